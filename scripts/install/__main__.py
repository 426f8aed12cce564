"""Install one part of the checkout's requirements, with uv, or with pip if uv cannot do it. All hashes are checked.

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
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from scripts.install.lock import TORCH_CPU, TORCH_CUDA
from scripts.install.pip_settings import this_machines
from scripts.install.quiet import StepFailedError, Steps
from scripts.local_triton.child import die_with_parent

_VENV = Path(".venv")
_BUILD = Path("build")
_PYTHON = _VENV / "bin" / "python"
_UV = _VENV / "bin" / "uv"
_PEERS = "peers-"


@dataclass(frozen=True)
class Part:
    """Files of requirements and the virtual environment. ``locked`` ones list all packages, with hashes."""

    title: str
    files: tuple[str, ...]
    folder: Path = _VENV
    locked: bool = True
    torch: bool = False


PARTS = {
    "product": Part(
        "packages",
        (
            "frontend/requirements.txt",
            "model_repository/requirements.txt",
            "scripts/export_models/requirements.txt",
            "scripts/local_triton/requirements.txt",
        ),
        torch=True,
    ),
    "tests": Part("what tests need", ("tests/requirements.txt",)),
    "fuzz": Part("what fuzzing needs", ("tests/fuzz/requirements.txt",)),
    "lab": Part("what the lab needs", ("lab/requirements.txt",)),
    "audit": Part("what audits", ("scripts/install/requirements-audit.txt",), _VENV / "audit"),
    "manual": Part("what builds the manual", ("scripts/install/requirements-manual.txt",), _VENV / "manual"),
    "clients": Part("clients to test with", ("tests/clients/requirements.txt",), _VENV / "clients"),
    **{
        f"{_PEERS}{kind}": Part(
            f"peers to compare with ({kind})",
            (f"lab/peers/requirements-{kind}.txt",),
            _VENV / f"{_PEERS}{kind}",
            locked=False,
        )
        for kind in ("text", "audio", "engines")
    },
}


_SIZES = {"base": "the installer", "product": "the product: 2.0 GB, 1 to 5 minutes"}
# PyTorch and CUDA's libraries unpacked, and once more as downloads.
_CUDA_BYTES = 8 * 10**9
_EXACTLY = ("--no-deps", "--require-hashes")


class Installer:
    """Fills virtual environments with the fastest available installer."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def base(self) -> None:
        """Make the virtual environment with uv, which installs the parts."""
        # venv installs pip last: without it, the environment is incomplete.
        if not (_VENV / "bin" / "pip").exists():
            self._steps.run(f"virtual environment {_VENV}", [sys.executable, "-m", "venv", str(_VENV)])
        pip = [str(_PYTHON), "-m", "pip", "install", *_EXACTLY, "-r", "scripts/install/requirements.txt"]
        title = "uv, which installs the rest"
        if not self._steps.tried(title, pip):
            self._steps.check_reached(title)

    def part(self, part: Part) -> None:
        """Install all files of a part."""
        if not (part.folder / "bin" / "python").exists():
            # The pip of the first environment serves this one too, which saves seconds.
            venv = [sys.executable, "-m", "venv", "--without-pip", str(part.folder)]
            self._steps.run(f"virtual environment {part.folder}", venv)
        if part.torch and not self._without_cuda(part.folder, *_EXACTLY, "-r", str(TORCH_CPU)):
            _check_room_for_cuda(part.folder)
            self._fill("PyTorch with CUDA", part.folder, *_EXACTLY, "-r", str(TORCH_CUDA))
        if not part.locked:
            for torch in filter(None, (_torch(Path(file)) for file in part.files)):
                self._without_cuda(part.folder, f"{torch}+cpu")
        files = [word for file in part.files for word in ("-r", file)]
        self._fill(part.title, part.folder, *(_EXACTLY if part.locked else ()), *files)

    def command(self) -> None:
        """Install the ``quartet`` command, which runs the code of this checkout."""
        # What builds it came with uv.
        built = ["--no-build-isolation"] if _UV.exists() else []
        self._fill("the quartet command", _VENV, "--no-deps", *built, "-e", ".")

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

    def _without_cuda(self, folder: Path, *wanted: str) -> bool:
        """Install a PyTorch without CUDA: from this machine's indexes, or by uv from PyTorch's own.

        PyPI has none for Linux on x86.
        """
        if self._by_uv("PyTorch without CUDA", folder, *wanted):
            return True
        if self._by_uv("PyTorch without CUDA, from PyTorch's own index", folder, "--torch-backend", "cpu", *wanted):
            return True
        if self._steps.tried("PyTorch without CUDA, by pip", [*_pip(folder), *wanted]):
            return True
        print("  no PyTorch without CUDA is available here: it comes with CUDA's libraries, 4 GB", flush=True)
        return False

    def _fill(self, title: str, folder: Path, *wanted: str) -> None:
        if not self._by_uv(title, folder, *wanted):
            self._steps.run(f"{title}, by pip", [*_pip(folder), *wanted])

    def _by_uv(self, title: str, folder: Path, *wanted: str) -> bool:
        variables = this_machines(_PYTHON) if _UV.exists() else None
        if variables is None:
            return False
        uv = [str(_UV), "pip", "install", "--python", str(folder / "bin" / "python")]
        return self._steps.tried(title, [*uv, *wanted], {**variables, **os.environ})


def _check_room_for_cuda(folder: Path) -> None:
    """Raise ``StepFailedError`` if the disk has no room for CUDA's libraries and what the installer keeps of them."""
    if (free := shutil.disk_usage(folder).free) < _CUDA_BYTES:
        needed, found = f"{_CUDA_BYTES / 1e9:.0f} GB of free disk", f"{folder.absolute()} has {free / 1e9:.1f} GB"
        raise StepFailedError(
            f"PyTorch with CUDA needs {needed}, {found}: make room, or name an index that has PyTorch without CUDA by "
            "PIP_EXTRA_INDEX_URL"
        )


def _pip(folder: Path) -> list[str]:
    return [str(_PYTHON), "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]


def _torch(file: Path) -> str:
    """The line about PyTorch in a file of requirements, or empty."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return next((line for line in lines if line.startswith("torch==")), "")


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
