"""What 'make run' prints can be pasted into a shell, and the variables it writes can be sourced and read again."""

import json
import os
import shlex
import signal
import subprocess
from pathlib import Path
from unittest.mock import Mock, create_autospec, patch

import pytest

from scripts.run import known_answers
from scripts.run.launch import launch, read_env, welcome, write_env
from scripts.run.preflight import Choice
from scripts.run.signals import interruptible
from scripts.run.stack import Stack

_VALUES = {"QUARTET_DATABASE": "postgresql://quartet:a b$c'd@host/name", "QUARTET_API_KEY": "qk_1"}
_SIGNALS = (signal.SIGUSR1, signal.SIGUSR2)


def _shown() -> list[str]:
    return welcome("http://127.0.0.1:8080", "qk_1", Path("build/demo.env"), 1.0).splitlines()


def test_the_last_lines_are_the_address_the_playground_the_key_and_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    *table, _, first, second = _shown()[-6:]
    assert [line.split() for line in table] == [
        ["address", "http://127.0.0.1:8080"],
        ["playground", "http://127.0.0.1:8080/playground"],
        ["key", "qk_1"],
    ]
    words = shlex.split(f"{first}\n{second}")
    assert words[:5] == ["curl", "-s", "http://127.0.0.1:8080/v1/audio/speech", "-H", "Authorization: Bearer qk_1"]
    assert sorted(json.loads(words[words.index("-d") + 1])) == ["input", "voice"]


def test_the_command_avoids_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy")
    assert "curl -s --noproxy 127.0.0.1 http://127.0.0.1:8080/v1/audio/speech" in _shown()[-2]


def test_the_end_is_told_to_others_and_on_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[bool] = []
    stack: Mock = create_autospec(Stack, instance=True, url="http://127.0.0.1:1", api_key="qk_1")
    stack.start.side_effect = KeyboardInterrupt
    assert launch(stack, Choice("run", state=tmp_path), (), lambda: told.append(stack.stop.called)) == 0
    assert told == [False]
    assert "stopping: requests in flight are finished; Ctrl-C again drops them" in capsys.readouterr().out


def _launch(
    folder: Path, signals: tuple[signal.Signals, ...] = (), *, is_correct: bool = True, **effects: Mock
) -> Mock:
    """A stack that was ready at once, after ``launch`` returned 0 if its models answer as they should, else 1."""
    stack: Mock = create_autospec(Stack, instance=True, url="http://127.0.0.1:1", api_key="qk_1")
    stack.environment.return_value = {}
    for name, effect in effects.items():
        getattr(stack, name).side_effect = effect
    with (
        patch.object(known_answers, "verify", return_value=is_correct),
        patch.object(known_answers, "variables", return_value={}),
    ):
        assert launch(stack, Choice("run", state=folder), signals) == (0 if is_correct else 1)
    return stack


@pytest.mark.parametrize("is_correct", [True, False])
def test_models_with_wrong_answers_are_in_the_exit_status(is_correct: bool, tmp_path: Path) -> None:
    assert _launch(tmp_path, is_correct=is_correct, mend=Mock(side_effect=KeyboardInterrupt)).stop.called


@pytest.fixture
def _restored_handlers() -> object:
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.usefixtures("_restored_handlers")
def test_a_second_interrupt_hurries_the_stop_and_does_not_cut_it_short(tmp_path: Path) -> None:
    interrupt = Mock(side_effect=lambda: _send(signal.SIGUSR1))
    _launch(tmp_path, (signal.SIGUSR1,), mend=interrupt, stop=interrupt).hurry.assert_called_once_with()


@pytest.mark.usefixtures("_restored_handlers")
def test_the_first_signal_interrupts_and_later_ones_of_any_kind_hurry() -> None:
    hurry = Mock()
    with pytest.raises(KeyboardInterrupt), interruptible(hurry, _SIGNALS):
        _send(signal.SIGUSR1)
    for number in _SIGNALS:
        _send(number)
    assert hurry.call_count == 2


@pytest.mark.usefixtures("_restored_handlers")
def test_no_signal_interrupts_after_the_block() -> None:
    hurry = Mock()
    with interruptible(hurry, _SIGNALS):
        pass
    _send(signal.SIGUSR1)
    hurry.assert_called_once_with()


def test_only_its_owner_can_read_the_file_and_a_shell_can_source_it(tmp_path: Path) -> None:
    path = tmp_path / "demo.env"
    write_env(path, _VALUES)
    assert path.stat().st_mode & 0o777 == 0o600
    script = f'. {shlex.quote(str(path))}; printf %s "$QUARTET_DATABASE"'
    shown = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout == _VALUES["QUARTET_DATABASE"]


def test_written_variables_are_read_and_there_are_none_before_the_first_start(tmp_path: Path) -> None:
    assert read_env(tmp_path / "demo.env") == {}
    write_env(tmp_path / "demo.env", _VALUES)
    assert read_env(tmp_path / "demo.env") == _VALUES
