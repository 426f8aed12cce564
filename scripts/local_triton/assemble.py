"""Put the backend folder together: Triton's Python backend with this Python's stub, and the ONNX stand-in."""

import os
import shutil
from pathlib import Path

from scripts.local_triton import settings
from scripts.local_triton.checks import Wheel

_STAND_IN = Path(__file__).parent / "backends" / "onnxruntime"


def assemble_backends(wheel: Wheel, folder: Path) -> Path:
    """Fill ``folder`` with ``python/`` and ``onnxruntime/`` and return it; a folder of an earlier run is renewed."""
    # Copies, since Triton refuses a backend library that lies outside of its backend directory.
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(wheel.python_backend, folder / "python")
    shutil.copy2(wheel.stub, folder / "python" / wheel.stub.name)
    shutil.copytree(_STAND_IN, folder / "onnxruntime", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return folder


def environment(wheel: Wheel, libpython: Path, interpreter: Path) -> dict[str, str]:
    """The environment of the server: its libraries, and the interpreter that the stub shall run first on PATH."""
    values = {**settings.variables(), **os.environ}
    paths = [str(libpython), str(wheel.libraries), values.get("LD_LIBRARY_PATH", "")]
    values["LD_LIBRARY_PATH"] = os.pathsep.join(path for path in paths if path)
    values["PATH"] = os.pathsep.join([str(interpreter.parent), values.get("PATH", "")])
    return values
