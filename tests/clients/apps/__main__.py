"""Apps and libraries as people install them, run by hand against the product with the aliases of docs/apps.md.

    python -m tests.clients.apps [--folder FOLDER] [--only with_langchain] [--plain]

Installs what is pinned in ``requirements`` and ``node`` into environments under the folder (3 GB), then starts the
product with the demo's models. Each script prints a line for each operation that it tried. ``--plain`` leaves the
aliases out, and some operations say what they miss.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from frontend.catalogue.endpoints import LIMITS
from frontend.config.reading import CONFIG_FILE, PREFIX
from scripts.local_triton.checks import free_port
from scripts.run.stack import Stack
from tests.conftest import ROOT

_HERE = Path(__file__).parent
_DOCUMENT = ROOT / "docs" / "apps.md"
_NODE = "client.mjs"
# The environment of each script: the apps want versions of the same packages that differ.
_ENVIRONMENTS = {
    "with_langchain": "libraries",
    "with_llama_index": "libraries",
    "with_haystack": "libraries",
    "with_litellm": "litellm",
    "with_dify": "dify",
    "with_open_webui": "open_webui",
    "node": "node",
}
_INSTALL_SECONDS, _RUN_SECONDS = 900, 300


def aliases() -> str:
    """The table that the document shows, which is what is tried."""
    found = re.search(r"```toml\n(\[aliases\]\n.*?)```", _DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None, f"{_DOCUMENT} has no [aliases]"
    return found[1]


def _install(folder: Path, environment: str) -> None:
    """Nothing where it is there already."""
    place = folder / environment
    if (place / "installed").exists():
        return
    print(f"installing {environment} into {place}", flush=True)
    if environment == "node":
        shutil.copytree(_HERE / "node", place, dirs_exist_ok=True)
        flags = ("--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund")
        _call("npm", "install", "--prefix", str(place), *flags)
    else:
        pins = str(_HERE / "requirements" / f"{environment}.txt")
        _call(sys.executable, "-m", "venv", "--without-pip", str(place))
        python = str(place / "bin" / "python")
        _call(str(ROOT / ".venv" / "bin" / "uv"), "pip", "install", "-q", "--no-deps", "--python", python, "-r", pins)
    (place / "installed").touch()


def _call(*command: str) -> None:
    subprocess.run(command, env=_environ(), check=True, timeout=_INSTALL_SECONDS)


def _environ() -> dict[str, str]:
    """With the Node that the tests have, and nothing that is set for another product."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    return {**own, "PATH": f"{Path(sys.prefix) / 'clients' / 'bin'}{os.pathsep}{own['PATH']}"}


def _start(folder: Path, *, plain: bool) -> Stack:
    limits = "\n".join(f"{name} = 1_000_000" for name in LIMITS)
    (folder / "quartet.toml").write_text(f"[limits]\n{limits}\n{'' if plain else aliases()}", encoding="utf-8")
    stack = Stack(free_port(), {**_environ(), CONFIG_FILE: str(folder / "quartet.toml")}, work=folder)
    stack.start()
    return stack


def _run(stack: Stack, folder: Path, script: str) -> bool:
    print(f"== {script}", flush=True)
    place = folder / _ENVIRONMENTS[script]
    command = ["node", _NODE] if script == "node" else [str(place / "bin" / "python"), str(_HERE / f"{script}.py")]
    environ = {**_environ(), f"{PREFIX}URL": stack.url, f"{PREFIX}API_KEY": stack.api_key}
    try:
        done = subprocess.run(command, env=environ, cwd=place, check=False, timeout=_RUN_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"{script} took more than {_RUN_SECONDS} s")
        return False
    return done.returncode == 0


def main() -> int:
    """1 where a script failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "apps")
    parser.add_argument("--only", nargs="+", choices=_ENVIRONMENTS, default=list(_ENVIRONMENTS))
    parser.add_argument("--plain", action="store_true")
    arguments = parser.parse_args()
    folder: Path = arguments.folder.absolute()
    for environment in dict.fromkeys(_ENVIRONMENTS[script] for script in arguments.only):
        _install(folder, environment)
    with tempfile.TemporaryDirectory() as work:
        stack = _start(Path(work), plain=arguments.plain)
        try:
            good = [_run(stack, folder, script) for script in arguments.only]
        finally:
            stack.stop()
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
