"""What a measurement was made on."""

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

_PACKAGES = ("aiohttp", "uvloop", "tritonclient", "onnxruntime", "ctranslate2", "tokenizers", "numpy", "piper-tts")


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "-"


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "-"


def describe() -> dict[str, Any]:
    """CPU, cores, memory, versions, commit."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "commit": _commit(),
        "packages": {name: _version(name) for name in _PACKAGES},
    }
