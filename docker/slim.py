"""Removes files from the frontend's image that the frontend never reads, then imports all of its modules.

    /opt/quartet/bin/python docker/slim.py

The import ends the build if a file is missing. It also leaves the compiled files of these modules, which a container
with a read-only root could not write.
"""

import importlib
import importlib.metadata
import pkgutil
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

_UNREAD = (
    # Tools that make models, and the C library, which the Python module contains too.
    "onnxruntime/transformers",
    "onnxruntime/quantization",
    "onnxruntime/tools",
    "onnxruntime/capi/libonnxruntime.so.*",
    # Phonemizers other than espeak-ng, and training.
    "piper/hebrew/*.onnx",
    "piper/tashkeel/*.onnx",
    "piper/train",
    "numpy/f2py",
    "numpy/distutils",
    # Files for compilers, type checkers, tests and debuggers.
    "**/tests",
    "**/*.[achs]",
    "**/*.py[ix]",
    "**/*.pxd",
)
# Video encoders. Quartet makes no video, and the first two are under the GPL.
_UNCALLED = ("libx264-*", "libx265-*", "libSvtAv1Enc-*")


def remove_unread(packages: Path) -> None:
    """Remove ``_UNREAD``, ``_UNCALLED``, and the symbols that only debuggers read."""
    for pattern in _UNREAD:
        for path in _found(packages, pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for pattern in _UNCALLED:
        for library in _found(packages / "av.libs", pattern):
            _hollow(library)
    # Libraries in the *.libs folders have no symbols for debuggers.
    modules = [path for path in packages.rglob("*.so") if not path.parent.name.endswith(".libs")]
    subprocess.run(["strip", "--strip-unneeded", *modules], check=True)


def _found(folder: Path, pattern: str) -> list[Path]:
    found = list(folder.glob(pattern))
    if not found:
        sys.exit(f"no file matches {pattern} any more; find its new name, because it may be large")
    return found


def _hollow(library: Path) -> None:
    """Replace a library by one whose functions do nothing. FFmpeg links it and calls it to list its encoders."""
    wanted = {name for user in library.parent.glob("libav*") for name in _symbols(user, "--undefined-only")}
    functions = "".join(f"long {name}(void) {{ return 0; }}\n" for name in wanted & _symbols(library, "--defined-only"))
    command = ["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{library.name}", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=functions, text=True, check=True)


def _symbols(library: Path, which: str) -> set[str]:
    command = ["nm", "--dynamic", "--format=just-symbols", which, str(library)]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


# A checkout has them, and an image does not.
_TESTS = "client.tests"


def import_all() -> None:
    """Import every module of the frontend and client, except those that need a package of an extra."""
    extras = _extras()
    for package in ("frontend", "client"):
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if module.name.startswith(_TESTS):
                continue
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                if error.name not in extras:
                    raise


def _extras() -> set[str]:
    """The packages of extras, such as ``quartet[bulk]``, by import name."""
    wanted = importlib.metadata.requires("quartet") or []
    return {re.split(r"[^\w-]", line)[0] for line in wanted if "extra ==" in line}


if __name__ == "__main__":
    remove_unread(Path(sysconfig.get_path("purelib")))
    import_all()
