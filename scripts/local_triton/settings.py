"""The arguments and variables of every Triton of Quartet, from the files that its image reads too."""

import secrets
from collections.abc import Mapping
from pathlib import Path

_FOLDER = Path(__file__).parents[2] / "model_repository"


# The header of HTTP that opens model control.
HEADER = "quartet"


def arguments(secret: str, nobody: str = "") -> list[str]:
    """Command-line arguments. ``secret`` opens model control, and ``nobody``, random by default, what nobody calls."""
    nobody = nobody or secrets.token_hex(16)
    return [line.replace("{secret}", secret).replace("{nobody}", nobody) for line in _lines("triton.args")]


def variables() -> Mapping[str, str]:
    """Defaults of environment variables."""
    return dict(line.split("=", 1) for line in _lines("triton.env"))


def _lines(name: str) -> list[str]:
    lines = (_FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
