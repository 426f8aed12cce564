"""What 'make run' prints can be pasted into a shell; what it keeps can be sourced, and the next start reads it."""

import json
import os
import shlex
import signal
import subprocess
from pathlib import Path
from unittest.mock import Mock, create_autospec, patch

import pytest

from scripts.run import demo_env, known_answers
from scripts.run.launch import launch, welcome
from scripts.run.preflight import Choice
from scripts.run.stack import Stack


def _shown() -> list[str]:
    return welcome("http://127.0.0.1:8080", "qk_1", Path("build/demo.env"), 1.0).splitlines()


def test_the_last_lines_are_the_address_the_playground_the_key_and_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    address, playground, key, _, *command = _shown()[-6:]
    assert address.split() == ["address", "http://127.0.0.1:8080"]
    assert playground.split() == ["playground", "http://127.0.0.1:8080/playground"]
    assert key.split() == ["key", "qk_1"]
    words = shlex.split("\n".join(command))
    assert words[:5] == ["curl", "-s", "http://127.0.0.1:8080/v1/audio/speech", "-H", "Authorization: Bearer qk_1"]
    assert sorted(json.loads(words[words.index("-d") + 1])) == ["input", "voice"]


def test_where_there_is_a_proxy_the_command_does_not_ask_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy")
    assert "curl -s --noproxy 127.0.0.1 http://127.0.0.1:8080/v1/audio/speech" in _shown()[-2]


def _stack() -> Mock:
    """One that is ready at once."""
    stack: Mock = create_autospec(Stack, instance=True, url="http://127.0.0.1:1", api_key="qk_1")
    stack.environment.return_value = {}
    return stack


def test_a_second_interrupt_hurries_the_stopping_and_does_not_cut_it_short(tmp_path: Path) -> None:
    before, stack = signal.getsignal(signal.SIGUSR1), _stack()
    stack.mend.side_effect = stack.stop.side_effect = lambda: os.kill(os.getpid(), signal.SIGUSR1)
    try:
        with patch.object(known_answers, "told", return_value={}):
            assert launch(stack, Choice("run", state=tmp_path), (signal.SIGUSR1,)) == 0
    finally:
        signal.signal(signal.SIGUSR1, before)
    stack.hurry.assert_called_once_with()


@pytest.mark.parametrize(("as_known", "status"), [(True, 0), (False, 1)])
def test_models_that_do_not_answer_as_they_should_are_in_the_exit_code(
    as_known: bool, status: int, tmp_path: Path
) -> None:
    stack = _stack()
    stack.mend.side_effect = KeyboardInterrupt
    with (
        patch.object(known_answers, "hold", return_value=as_known),
        patch.object(known_answers, "told", return_value={}),
    ):
        assert launch(stack, Choice("run", state=tmp_path), ()) == status
    assert stack.stop.called


_VALUES = {"QUARTET_DATABASE": "postgresql://quartet:a b$c'd@host/name", "QUARTET_API_KEY": "qk_1"}


def test_it_is_its_owners_alone_and_can_be_sourced(tmp_path: Path) -> None:
    path = tmp_path / "demo.env"
    demo_env.write(path, _VALUES)
    assert path.stat().st_mode & 0o777 == 0o600
    script = f'. {shlex.quote(str(path))}; printf %s "$QUARTET_DATABASE"'
    shown = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout == _VALUES["QUARTET_DATABASE"]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    demo_env.write(tmp_path / "demo.env", _VALUES)
    assert demo_env.read(tmp_path / "demo.env") == _VALUES


def test_before_the_first_start_there_is_nothing(tmp_path: Path) -> None:
    assert demo_env.read(tmp_path / "demo.env") == {}
