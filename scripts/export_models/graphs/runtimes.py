"""ONNX Runtimes of other versions than this process's, each in a virtual environment of its own.

    python -m scripts.export_models.graphs.runtimes FOLDER

installs the oldest into a folder. Triton brings an ONNX Runtime of its own: 24.10 has 1.19.2, 26.06 has 1.24.4, 26.07
has 1.27.0. Exports are for those from ``OLDEST`` to this process's, which is the newest; integer kernels round
differently from one to the other.
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version as installed
from pathlib import Path

from scripts.export_models.checkpoints import SourceError

OLDEST = "1.19.2"
_VERSION = re.compile(r"\d+\.\d+\.\d+")
# What an ONNX Runtime older than this process's was built for.
_NUMPY = "numpy<2"


def ordered(version: str) -> tuple[int, ...]:
    """A version as numbers that compare; ``SourceError`` where it is none."""
    if not _VERSION.fullmatch(version):
        raise SourceError(f"{version!r} is no version of ONNX Runtime, like {OLDEST}")
    return tuple(map(int, version.split(".")))


class OtherRuntime:
    """ONNX Runtime of one version, in a folder below ``home`` that is made when it is first needed."""

    def __init__(self, version: str, home: Path) -> None:
        self.version = version
        self._folder = home / f"onnxruntime-{version}"

    def __str__(self) -> str:
        return f"ONNX Runtime {self.version}"

    @property
    def python(self) -> Path:
        """Its interpreter, which has NumPy beside it and nothing else."""
        return self._folder / "bin" / "python"

    def install(self) -> None:
        """Make the environment, unless it is there; ``SourceError`` where the package index does not give it."""
        done = self._folder / "installed"
        if done.exists():
            return
        install = [str(self.python), "-m", "pip", "install", "--quiet", f"onnxruntime=={self.version}", _NUMPY]
        for command in ([sys.executable, "-m", "venv", "--clear", str(self._folder)], install):
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            if ended.returncode:
                said = (ended.stderr.strip() or "no reason given").splitlines()[-1]
                raise SourceError(f"{self} cannot be installed to check on: {said}")
        done.touch()


def others(versions: Sequence[str], home: Path) -> list[OtherRuntime]:
    """The runtimes of ``versions`` but for this process's own; ``SourceError`` for one that exports are not for."""
    newest = installed("onnxruntime") if versions else OLDEST
    for version in versions:
        if not ordered(OLDEST) <= ordered(version) <= ordered(newest):
            raise SourceError(f"exports are for ONNX Runtime {OLDEST} to {newest}, not {version}")
    return [OtherRuntime(version, home) for version in versions if version != newest]


if __name__ == "__main__":
    try:
        OtherRuntime(OLDEST, Path(sys.argv[1])).install()
    except SourceError as error:
        sys.exit(str(error))
