"""The arguments and variables of every Triton of Quartet, from the files that its image reads too."""

import secrets
from collections.abc import Mapping
from pathlib import Path

_FOLDER = Path(__file__).parents[2] / "model_repository"


def arguments() -> list[str]:
    """Command-line arguments. Triton takes the last of a repeated one."""
    return _lines("triton.args")


def closed() -> list[str]:
    """Arguments that close what no program of ours calls, by a header whose value nobody knows.

    Holes of Triton's were reached by these, such as CVE-2025-23319 by shared memory.
    """
    rule = f"shared-memory,trace,logging:quartet={secrets.token_hex(16)}"
    return [f"--http-restricted-api={rule}", f"--grpc-restricted-protocol={rule}"]


def variables() -> Mapping[str, str]:
    """Defaults of environment variables."""
    return dict(line.split("=", 1) for line in _lines("triton.env"))


def _lines(name: str) -> list[str]:
    lines = (_FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
