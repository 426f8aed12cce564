"""The command line: starts that fail, commands without a database, and interrupts."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from frontend import __main__ as command_line
from frontend.catalogue.version import VERSION
from frontend.config.reading import PREFIX
from frontend.observe import logs
from tests.conftest import ROOT
from tests.unit.commands.conftest import Terminal


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE", "mysql://a/b"),
        ("DATABASE", "sqlite:////proc/none/q"),
        ("JWT_JWKS", "http://a.example"),
    ],
)
def test_a_server_that_cannot_start_ends_with_one_line(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"{PREFIX}{name}", value)
    monkeypatch.setenv(f"{PREFIX}PORT", "0")
    monkeypatch.setattr(logs, "set_up_logging", lambda level, form: None)
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    assert len(terminal.type("serve", status=2)) == 1


def test_the_server_leaves_no_setting_to_the_processes_that_it_starts(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"DATABASE": "mysql://a/b", "PORT": "0", "JWT_SECRET": "s" * 32}.items():
        monkeypatch.setenv(f"{PREFIX}{name}", value)
    monkeypatch.setattr(logs, "set_up_logging", lambda level, form: None)
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    assert terminal.type("serve", status=2)
    assert [name for name in os.environ if name.startswith(PREFIX)] == []


def test_bad_settings_end_the_start_with_one_line(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{PREFIX}PORT", "x")
    assert terminal.type("serve", status=2) == ["QUARTET_PORT: must be a valid integer, not 'x'"]


def test_a_token_needs_a_secret(terminal: Terminal) -> None:
    assert terminal.type("tokens", "issue", status=2) == ["QUARTET_JWT_SECRET: must be set to issue tokens"]


_COMMANDS = ["keys create", "keys list", "orgs list", "usage", "prune --before 2020-01-01", "wallets list", "audit"]


@pytest.mark.parametrize("command", _COMMANDS)
def test_a_command_without_a_database_does_not_create_one(new_terminal: Terminal, tmp_path: Path, command: str) -> None:
    (line,) = new_terminal.type(*command.split(), status=2)
    assert line.startswith(f"QUARTET_DATABASE: there is no {tmp_path}/new/quartet.sqlite3; build/demo.env names that")
    assert list(tmp_path.iterdir()) == []


def test_a_database_is_created_for_a_key_on_request(new_terminal: Terminal) -> None:
    new_terminal.type("keys", "create", "--create-database")
    assert len(new_terminal.type("keys", "list")) == 2


def test_an_interrupted_command_prints_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        database = f"postgresql://quartet:x@127.0.0.1:{silent.getsockname()[1]}/quartet"
        run = subprocess.Popen(
            # Background processes of a shell, and their children, ignore the signal.
            ["env", "--default-signal=INT", sys.executable, "-m", "frontend", "keys", "list"],
            cwd=ROOT,
            env={**os.environ, "QUARTET_DATABASE": database},
            stderr=subprocess.PIPE,
        )
        connection, _ = silent.accept()
        # Now it waits for the database's answer.
        assert connection.recv(1)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=30)
        connection.close()
    assert (run.returncode, said) == (130, b"")


def test_the_commands_are_in_the_help() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "frontend", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert all(command in ended.stdout for command in ("serve", "keys", "bulk", "verify"))


def test_the_version_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["quartet", "--version"])
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert (ended.value.code, capsys.readouterr().out) == (0, f"{VERSION}\n")
