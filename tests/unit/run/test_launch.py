"""What 'make run' prints can be pasted into a shell."""

import json
import os
import re
import signal
from pathlib import Path
from unittest.mock import Mock, create_autospec, patch

import pytest

from scripts.run import known_answers
from scripts.run.launch import examples, launch
from scripts.run.preflight import Choice
from scripts.run.stack import Stack


def test_what_is_printed_has_bodies_of_json_and_tritons_addresses() -> None:
    stack = Stack(1, {})
    ports = stack.triton.ports
    values = {"QUARTET_API_KEY": "qk_1", "QUARTET_MOBILE_JWT": "token"}
    printed = examples(stack, values, Path("build/demo.env"), 1.0)
    bodies = re.findall(r"-d '(.*?)'", printed, re.DOTALL)
    assert [sorted(json.loads(body)) for body in bodies] == [["input", "voice"], ["documents", "query"]]
    assert all(f"127.0.0.1:{port}" in printed for port in (ports.http, ports.grpc, ports.metrics))


def _stack() -> Mock:
    """One that is ready at once."""
    real = Stack(1, {})
    stack: Mock = create_autospec(Stack, instance=True, url=real.url, fit=real.fit, triton=real.triton)
    stack.environment.return_value = {"QUARTET_API_KEY": "qk_1", "QUARTET_MOBILE_JWT": "token"}
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
