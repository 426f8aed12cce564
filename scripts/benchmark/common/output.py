"""Writes a measurement: its machine, its numbers and a table."""

import json
import platform
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scripts.machine import memory_bytes, processors, versions

_PACKAGES = ("aiohttp", "uvloop", "tritonclient", "onnxruntime", "ctranslate2", "tokenizers", "numpy", "piper-tts")


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "-"


def machine() -> dict[str, Any]:
    """The machine of a measurement: processor, memory, system, commit and packages."""
    return {
        "cpu": _cpu(),
        "cores": processors(),
        "memory_gib": round(memory_bytes() / 1024**3, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "commit": _commit(),
        "packages": versions(_PACKAGES, "-"),
    }


def line(cells: Iterable[object]) -> str:
    """A line of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def head(names: Sequence[str]) -> str:
    """The first two lines of a Markdown table."""
    return f"{line(names)}\n|{'---|' * len(names)}"


def write(stem: Path, table: str, numbers: dict[str, Any]) -> None:
    """``stem``.json with the machine and the numbers, and ``stem``.md with the table."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    whole = json.dumps({"machine": machine(), **numbers}, indent=2)
    stem.with_suffix(".json").write_text(f"{whole}\n", encoding="utf-8")
    stem.with_suffix(".md").write_text(f"{table}\n", encoding="utf-8")
