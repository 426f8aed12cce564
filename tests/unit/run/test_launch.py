"""What 'make run' prints can be pasted into a shell."""

import json
import re
from pathlib import Path
from unittest.mock import create_autospec, patch

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


@pytest.mark.parametrize(("as_known", "status"), [(True, 0), (False, 1)])
def test_models_that_do_not_answer_as_they_should_are_in_the_exit_code(
    as_known: bool, status: int, tmp_path: Path
) -> None:
    real = Stack(1, {})
    stack = create_autospec(Stack, instance=True, url=real.url, fit=real.fit, triton=real.triton)
    stack.environment.return_value = {"QUARTET_API_KEY": "qk_1", "QUARTET_MOBILE_JWT": "token"}
    stack.mend.side_effect = KeyboardInterrupt
    with (
        patch.object(known_answers, "hold", return_value=as_known),
        patch.object(known_answers, "told", return_value={}),
    ):
        assert launch(stack, Choice("run", state=tmp_path), ()) == status
    assert stack.stop.called
