"""Runs commands."""

from pathlib import Path

import pytest

from frontend import __main__ as command_line
from frontend.administration.commands.database import with_registry
from frontend.administration.registry import Registry
from frontend.config.reading import PREFIX
from frontend.config.settings import Settings


class Terminal:
    """Runs ``python -m frontend`` on one database and returns the printed lines."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], database: str) -> None:
        self._monkeypatch, self._capsys, self.database = monkeypatch, capsys, database
        monkeypatch.setenv(f"{PREFIX}DATABASE", database)

    def type(self, *words: str, status: int = 0) -> list[str]:
        self._monkeypatch.setattr("sys.argv", ["frontend", *words])
        assert command_line.main() == status
        captured = self._capsys.readouterr()
        return (captured.out if status == 0 else captured.err).splitlines()


@pytest.fixture
def new_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Terminal:
    """Without a database."""
    return Terminal(monkeypatch, capsys, f"sqlite:///{tmp_path}/new/quartet.sqlite3")


@pytest.fixture
def terminal(new_terminal: Terminal) -> Terminal:
    """With a database."""
    with_registry(Settings(database=new_terminal.database), Registry.orgs)
    return new_terminal
