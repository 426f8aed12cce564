"""Install one part of the checkout's requirements, with uv, or with pip if uv cannot do it.

    python -m scripts.install product

It needs only the standard library, and makes the virtual environments with its own interpreter.
"""

import signal

if __name__ == "__main__":
    # Ctrl-C ends it at once, without a traceback, even if the caller ignores SIGINT.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse
import fcntl
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.install.pip_settings import uv_environment
from scripts.install.quiet import StepFailedError, Steps
from scripts.local_triton.child import die_with_parent

_VENV = Path(".venv")
_BUILD = Path("build")
_PYTHON = _VENV / "bin" / "python"
_UV = _VENV / "bin" / "uv"
_PEERS = "peers-"


@dataclass(frozen=True)
class Part:
    """Files of requirements, those (``alone``) whose dependencies are left out, and the virtual environment."""

    title: str
    files: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    folder: Path = _VENV


PARTS = {
    "product": Part(
        "packages",
        ("frontend/requirements.txt", "scripts/export_models/requirements.txt"),
        (
            "frontend/requirements-nodeps.txt",
            "model_repository/requirements-nodeps.txt",
            "scripts/local_triton/requirements.txt",
        ),
    ),
    "tests": Part("what tests need", ("tests/requirements.txt",), ("tests/requirements-nodeps.txt",)),
    "lab": Part("what the lab needs", ("lab/requirements.txt",)),
    "clients": Part("clients to test with", alone=("tests/clients/requirements.txt",), folder=_VENV / "clients"),
    **{
        f"{_PEERS}{kind}": Part(
            f"peers to compare with ({kind})",
            (f"lab/peers/requirements-{kind}.txt",),
            folder=_VENV / f"{_PEERS}{kind}",
        )
        for kind in ("text", "audio", "engines")
    },
}


_SIZES = {"base": "the installer", "product": "the product: 2.0 GB, 1 to 5 minutes"}


class Installer:
    """Fills virtual environments with the fastest available installer."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def base(self) -> None:
        """Make the virtual environment with uv, which installs the parts."""
        # venv installs pip last: without it, the environment is incomplete.
        if not (_VENV / "bin" / "pip").exists():
            self._steps.run(f"virtual environment {_VENV}", [sys.executable, "-m", "venv", str(_VENV)])
        pip = [str(_PYTHON), "-m", "pip", "install", "-r", "scripts/install/requirements.txt"]
        title = "uv, which installs the rest"
        if not self._steps.tried(title, pip):
            self._steps.check_reached(title)

    def part(self, part: Part) -> None:
        """Install all files of a part."""
        if not (part.folder / "bin" / "python").exists():
            # The pip of the first environment serves this one too, which saves seconds.
            venv = [sys.executable, "-m", "venv", "--without-pip", str(part.folder)]
            self._steps.run(f"virtual environment {part.folder}", venv)
        if part.files:
            torch = next(filter(None, (_torch(Path(file)) for file in part.files)), "")
            self._fill(part.title, part.folder, *(word for file in part.files for word in ("-r", file)), torch=torch)
        if part.alone:
            title = f"{part.title}, without their dependencies" if part.files else part.title
            self._fill(title, part.folder, "--no-deps", *(word for file in part.alone for word in ("-r", file)))

    def command(self) -> None:
        """Install the ``quartet`` command, which runs the code of this checkout."""
        self._fill("the quartet command", _VENV, "--no-deps", "-e", ".")

    def node(self) -> None:
        """Install the client for Node that tests use."""
        clients = PARTS["clients"].folder
        package = Path("tests/clients/node/package.json")
        node = clients / "node"
        node.mkdir(exist_ok=True)
        (node / package.name).write_bytes(package.read_bytes())
        path = f"{(clients / 'bin').absolute()}{os.pathsep}{os.environ['PATH']}"
        npm = ["npm", "install", "--prefix", str(node), "--no-package-lock", "--no-audit", "--no-fund"]
        self._steps.run("the client for Node", npm, {"PATH": path})

    def _fill(self, title: str, folder: Path, *wanted: str, torch: str = "") -> None:
        python = str(folder / "bin" / "python")
        variables = self._uv_variables()
        if variables is not None:
            uv, environment = [str(_UV), "pip", "install", "--python", python], {**variables, **os.environ}
            asked = self._without_cuda(torch, uv, environment, [f"{torch}+cpu"], ["--torch-backend", "cpu"])
            if self._steps.tried(title, [*uv, *asked, *wanted], environment):
                return
        pip = [str(_PYTHON), "-m", "pip", "--python", python, "install"]
        asked = self._without_cuda(torch, pip, {}, [f"{torch}+cpu"])
        self._steps.run(f"{title}, by pip", [*pip, *asked, *wanted])

    def _without_cuda(
        self, torch: str, install: list[str], environment: Mapping[str, str], *ways: list[str]
    ) -> list[str]:
        """The first of ``ways`` to a PyTorch without CUDA: from this machine's indexes, or by uv from PyTorch's own.

        PyPI has none for Linux on x86.
        """
        for way in ways if torch else ():
            dry = [*install, "--dry-run", "--no-deps", *way, torch]
            if self._steps.tried(f"{torch} without CUDA ({' '.join(way)})", dry, environment):
                return way
        if torch:
            print(f"  no {torch} without CUDA is available here: it comes with CUDA's libraries, 4 GB", flush=True)
        return []

    def _uv_variables(self) -> Mapping[str, str] | None:
        if not _UV.exists():
            return None
        listed = [str(_PYTHON), "-m", "pip", "config", "list"]
        done = subprocess.run(listed, capture_output=True, text=True, check=False)
        return uv_environment(done.stdout) if done.returncode == 0 else None


def _torch(file: Path) -> str:
    """The line about PyTorch in a file of requirements or in one that it includes, or empty."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("torch=="):
            return line
        if line.startswith("-r ") and (found := _torch(file.parent / line.removeprefix("-r "))):
            return found
    return ""


def _install(name: str) -> None:
    _BUILD.mkdir(exist_ok=True)
    folder = PARTS[name].folder.name if name in PARTS else _VENV.name
    with (_BUILD / f"install{folder}.lock").open("w") as lock:
        # Two installers of one folder would undo each other's work: the later one waits.
        fcntl.flock(lock, fcntl.LOCK_EX)
        log = _BUILD / f"install-{name}.log"
        installer = Installer(Steps(log))
        print(f"installing {_SIZES.get(name, name)}; the log is {log}", flush=True)
        if name == "base":
            installer.base()
        else:
            installer.part(PARTS[name])
        if name == "product":
            installer.command()
        if name == "clients":
            installer.node()


def main() -> int:
    die_with_parent()
    parser = argparse.ArgumentParser(description="Install one part into its virtual environment.")
    parser.add_argument("part", choices=("base", *PARTS))
    try:
        _install(parser.parse_args().part)
    except (StepFailedError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
