"""Puts the backend folder together: Triton's Python backend with this Python's stub, and our ONNX backend."""

import os
import shutil
from pathlib import Path

from scripts.local_triton import settings
from scripts.local_triton.checks import Wheel

_ONNX_BACKEND = Path(__file__).parent / "backends" / "onnxruntime"


def assemble_backends(wheel: Wheel, folder: Path) -> Path:
    """Fill ``folder`` with ``python/`` and ``onnxruntime/``, in place of those of an earlier run, and return it."""
    # Copies, because Triton rejects a library outside of its backend directory.
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(wheel.python_backend, folder / "python")
    shutil.copy2(wheel.stub, folder / "python" / wheel.stub.name)
    shutil.copytree(_ONNX_BACKEND, folder / "onnxruntime", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return folder


def environment(wheel: Wheel, libpython: Path, interpreter: Path) -> dict[str, str]:
    """The server's environment: its libraries, and the stub's interpreter first on PATH."""
    values = {**settings.variables(), **os.environ}
    paths = [str(libpython), str(wheel.libraries), values.get("LD_LIBRARY_PATH", "")]
    values["LD_LIBRARY_PATH"] = os.pathsep.join(path for path in paths if path)
    values["PATH"] = os.pathsep.join([str(interpreter.parent), values.get("PATH", "")])
    return values
