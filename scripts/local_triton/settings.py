"""What every Triton of Quartet is started with: read from the files that its image reads too."""

from collections.abc import Mapping
from pathlib import Path

_FOLDER = Path(__file__).parents[2] / "model_repository"


def arguments() -> list[str]:
    """Of the command line; of an argument that is given twice, Triton takes the last."""
    return _lines("triton.args")


def variables() -> Mapping[str, str]:
    """Of the environment, where that says nothing else."""
    return dict(line.split("=", 1) for line in _lines("triton.env"))


def _lines(name: str) -> list[str]:
    lines = (_FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
