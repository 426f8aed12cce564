"""Lists the packages of an image as CycloneDX: those of the Python that runs this, and those of Debian.

python docker/sbom.py FILE
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

_TOOL = Path(__file__).with_name("requirements.txt")


def python_packages(folder: Path) -> dict[str, Any]:
    """The packages of this interpreter, listed by the tool in its own environment in ``folder``."""
    own = folder / "bin" / "python"
    base = str(Path(sys.base_prefix) / "bin" / "python3")
    # In some images Python cannot install pip into an environment.
    subprocess.run([base, "-m", "venv", "--without-pip", str(folder)], check=True)
    pip = [base, "-m", "pip", "--python", str(own), "install", "--quiet", "--no-cache-dir"]
    subprocess.run([*pip, "--no-deps", "--require-hashes", "-r", str(_TOOL)], check=True)
    command = [str(own), "-m", "cyclonedx_py", "environment", "--output-reproducible", sys.executable]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def debian_packages() -> list[dict[str, str]]:
    """The installed packages of Debian or Ubuntu."""
    (system,) = [line[3:] for line in Path("/etc/os-release").read_text().splitlines() if line.startswith("ID=")]
    form = "${Package} ${Version} ${Architecture}\n"
    listed = subprocess.run(["dpkg-query", "-W", "-f", form], check=True, capture_output=True, text=True).stdout
    packages = []
    for name, version, architecture in map(str.split, listed.splitlines()):
        url = f"pkg:deb/{system}/{quote(name)}@{quote(version)}?arch={architecture}"
        packages.append({"type": "library", "name": name, "version": version, "purl": url, "bom-ref": url})
    return packages


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        document = python_packages(Path(folder))
    document["components"] = [*document.get("components", []), *debian_packages()]
    Path(sys.argv[1]).write_text(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
