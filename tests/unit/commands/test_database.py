"""A command uses the product's database, and makes none of its own."""

from pathlib import Path

import pytest

from tests.unit.commands.conftest import Terminal

_COMMANDS = ["keys create", "keys list", "orgs list", "usage", "prune --before 2020-01-01", "wallets list", "audit"]


@pytest.mark.parametrize("command", _COMMANDS)
def test_a_command_without_a_database_makes_none(new_terminal: Terminal, tmp_path: Path, command: str) -> None:
    (line,) = new_terminal.type(*command.split(), status=2)
    assert line.startswith(f"QUARTET_DATABASE: there is no {tmp_path}/new/quartet.sqlite3; build/demo.env names that")
    assert list(tmp_path.iterdir()) == []


def test_a_database_is_made_for_a_key_where_that_is_asked_for(new_terminal: Terminal) -> None:
    new_terminal.type("keys", "create", "--create-database")
    assert len(new_terminal.type("keys", "list")) == 2
