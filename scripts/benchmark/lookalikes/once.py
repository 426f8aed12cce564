"""Makes what takes long once, whole or not at all."""

import shutil
from collections.abc import Callable
from pathlib import Path


def once(target: Path, make: Callable[[Path], object]) -> Path:
    """``target``, a file or folder, made where it is not there yet; what was cut short is not taken for whole."""
    if not target.exists():
        partial = target.with_name(f"{target.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        make(partial)
        partial.rename(target)
    return target
