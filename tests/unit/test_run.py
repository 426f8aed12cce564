"""What 'make run' prints can be pasted into a shell, and what dies is started again in good time."""

import json
import re
import sys
from pathlib import Path

import pytest

from scripts import run
from scripts.export_models.demo.sentences import LANGUAGES, load_grammar
from scripts.run import DEMO_BOUNDS, examples
from scripts.stack import Pauses, Stack


def test_the_printed_bodies_are_valid_json() -> None:
    printed = examples(Stack(1, {}), "token", Path("build/demo.env"), 1.0)
    bodies = re.findall(r"-d '(.*?)'", printed, re.DOTALL)
    assert [sorted(json.loads(body)) for body in bodies] == [["input", "voice"], ["documents", "query"]]


def test_the_first_new_start_is_at_once() -> None:
    assert Pauses().next(100.0) == 0


def test_new_starts_that_follow_each_other_wait_longer_and_longer() -> None:
    pauses = Pauses()
    assert [pauses.next(float(second)) for second in range(8)] == [0, 1, 2, 4, 8, 16, 30, 30]


def test_a_quiet_minute_forgets_the_pauses() -> None:
    pauses = Pauses()
    pauses.next(0.0)
    pauses.next(1.0)
    assert pauses.next(61.0) == 0


@pytest.mark.parametrize(("models", "said"), [("demo", True), ("hub", False), ("folder", False)])
def test_the_demo_says_at_its_start_what_it_can_hear(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], models: str, said: bool
) -> None:
    monkeypatch.setattr(sys, "argv", ["run", "--models", models])
    monkeypatch.setattr(run, "_export", lambda *_: 1)
    run.main()
    assert (DEMO_BOUNDS in capsys.readouterr().out) is said


def test_what_the_demo_says_of_its_words_is_true() -> None:
    counts = [len(load_grammar(language).vocabulary()) for language in LANGUAGES]
    assert max(abs(count - 400) for count in counts) < 50
