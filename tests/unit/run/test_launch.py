"""What 'make run' prints can be pasted into a shell."""

import json
import os
import shlex
import signal
from pathlib import Path
from unittest.mock import Mock, create_autospec, patch

import pytest

from scripts.run import known_answers
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
