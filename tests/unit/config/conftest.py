from collections.abc import Callable
from pathlib import Path

import pytest

File = Callable[[str], dict[str, str]]


@pytest.fixture
def file(tmp_path: Path) -> File:
    """Write a settings file and return the environment that names it."""

    def write(text: str) -> dict[str, str]:
        path = tmp_path / "quartet.toml"
        path.write_text(text, encoding="utf-8")
        return {"QUARTET_CONFIG": str(path), "PORT": "1"}

    return write
