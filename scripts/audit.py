"""What is installed, and what is known against it.

    python -m scripts.audit list    lists the packages of each part, with licences, as CycloneDX in build/sbom
    python -m scripts.audit ask     asks OSV's database, and npm's for Node's packages, for known vulnerabilities

``ask`` exits with 0 only if every database answered for every package and knows nothing, with 1 if it knows something,
and with 2 if one could not be asked. More arguments go to pip-audit, such as ``--osv-url`` for a mirror of OSV.
"""

import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

from scripts.dependencies import locked, plain
from scripts.install.lock import LOCKS, TORCH_CPU, TORCH_CUDA

# Images list themselves, with the packages of their Debian: docker/sbom.py.
PARTS: Mapping[str, Sequence[str | Path]] = {
    "frontend": ("frontend/requirements.txt",),
    "model_repository": ("model_repository/requirements.txt",),
    "export": ("scripts/export_models/requirements.txt", TORCH_CPU),
    "triton-embedded": ("model_repository/requirements.txt", "scripts/local_triton/requirements.txt"),
}
_TOOLS = Path(".venv/audit/bin/python")
_NODE = Path("tests/clients/node/package.json")


class CannotAskError(Exception):
    """A database did not answer."""


def of_part(document: Mapping[str, Any], wanted: Mapping[str, str]) -> Mapping[str, Any]:
    """An environment's list with what is ``wanted`` alone. Raises ``LookupError`` if some of that is not installed."""
    there = {plain(item["name"]): item for item in document["components"]}
    versions = {name: item["version"].partition("+")[0] for name, item in there.items()}
    if missing := sorted(name for name, version in wanted.items() if versions.get(name) != version):
        raise LookupError(f"not installed as locked: {', '.join(missing)}; 'make install' installs them")
    kept = {there[name]["bom-ref"] for name in wanted}
    needs = [{**item, "dependsOn": sorted(kept & set(item.get("dependsOn", ())))} for item in document["dependencies"]]
    needs = [item for item in needs if item["ref"] in kept]
    return {**document, "components": [there[name] for name in sorted(wanted)], "dependencies": needs}


def write_lists(folder: Path) -> None:
    """List what this environment has of each part. The same packages give the same files."""
    command = [
        str(_TOOLS),
        "-m",
        "cyclonedx_py",
        "environment",
        "--output-reproducible",
        "--pyproject",
        "pyproject.toml",
    ]
    done = subprocess.run([*command, sys.executable], check=True, stdout=subprocess.PIPE)
    document = json.loads(done.stdout)
    for item in document["components"]:
        # The tool leaves out what SPDX's list has under another name.
        if "licenses" not in item and (licences := metadata(item["name"]).get_all("License")):
            item["licenses"] = [{"license": {"name": licences[0]}}]
    folder.mkdir(parents=True, exist_ok=True)
    for name, files in PARTS.items():
        part = of_part(document, locked(files))
        (folder / f"{name}.json").write_text(json.dumps(part, indent=1) + "\n", encoding="utf-8")
        print(f"{folder / name}.json: {len(part['components'])} packages")


def known_of_python(said: str) -> Iterator[str]:
    """What pip-audit found. Raises ``CannotAskError`` if it left a package out, as it does without a failure."""
    packages = json.loads(said)["dependencies"]
    if left_out := [item for item in packages if "skip_reason" in item]:
        raise CannotAskError(f"{len(left_out)} of {len(packages)} packages: {left_out[0]['skip_reason']}")
    for item in packages:
        for hole in item["vulns"]:
            fixed = ", ".join(hole["fix_versions"]) or "no version"
            yield f"{item['name']} {item['version']}: {hole['id']} {' '.join(hole['aliases'])}, fixed in {fixed}"


def _ask_osv(options: Sequence[str]) -> list[str]:
    """Ask for one lock at a time, since pip-audit takes no package in two versions."""
    known: set[str] = set()
    for file in (*LOCKS, TORCH_CUDA):
        command = [str(_TOOLS), "-m", "pip_audit", "--disable-pip", "--format", "json", "--progress-spinner", "off"]
        command += ["--vulnerability-service", "osv", "-r", str(file), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not done.stdout.startswith("{"):
            raise CannotAskError((done.stderr.strip().splitlines() or ["no answer"])[-1])
        known.update(known_of_python(done.stdout))
    return sorted(known)


def known_of_node(said: str) -> Iterator[str]:
    """What 'npm audit' found. Raises ``CannotAskError`` if it could not ask."""
    answer = json.loads(said or "{}")
    if "vulnerabilities" not in answer:
        raise CannotAskError(answer.get("message") or answer.get("error", {}).get("summary") or "no answer")
    for name, item in answer["vulnerabilities"].items():
        yield f"{name} {item['range']}: {item['severity']}"


def _npm(folder: str, *words: str) -> str:
    path = f"{Path('.venv/clients/bin').absolute()}{os.pathsep}{os.environ['PATH']}"
    command, environ = ["npm", *words, "--prefix", folder], {**os.environ, "PATH": path}
    try:
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=False).stdout
    except OSError as error:
        raise CannotAskError(str(error)) from None


def _ask_npm() -> list[str]:
    """Ask for what Node's packages of the tests are now, since they have no lock."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / _NODE.name).write_bytes(_NODE.read_bytes())
        _npm(folder, "install", "--package-lock-only", "--no-audit")
        return list(known_of_node(_npm(folder, "audit", "--json")))


def ask(options: Sequence[str]) -> int:
    """Ask both databases, print what they know, and return the exit status."""
    status = 0
    questions: Mapping[str, Callable[[], list[str]]] = {"OSV": lambda: _ask_osv(options), "npm": _ask_npm}
    for database, question in questions.items():
        try:
            known = question()
        except CannotAskError as error:
            print(f"{database} could not be asked, so that nothing is known: {error}", file=sys.stderr)
            status = 2
            continue
        when = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC"
        print("\n".join((f"{database}, asked on {when}, known vulnerabilities: {len(known) or 'none'}", *known)))
        status = max(status, min(1, len(known)))
    return status


def main() -> int:
    if sys.argv[1] == "ask":
        return ask(sys.argv[2:])
    try:
        write_lists(Path("build/sbom"))
    except LookupError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
