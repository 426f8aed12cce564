"""A part ends by itself, whatever becomes of it."""

import os
import sys
from pathlib import Path

import pytest

from scripts.gpu_check.runner import Outcome, run


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is run in the place of the worker."""
    starter = tmp_path / "python"
    starter.write_text(f"#!/bin/sh\nexec {sys.executable} {tmp_path / 'worker.py'}\n", encoding="utf-8")
    starter.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(starter))
    return tmp_path / "worker.py"


def _run(worker: Path, code: str, seconds: float = 60.0) -> Outcome:
    worker.write_text(code, encoding="utf-8")
    return run("text", [], worker.parent / "text.log", lambda _: None, seconds)


def test_what_a_part_finds_is_kept(python: Path) -> None:
    outcome = _run(
        python,
        """print('{"kind": "fact", "name": "gpu", "value": "none"}')
print('{"kind": "check", "model": "a", "what": "b", "difference": 0.1, "limit": 1}')
print('{"kind": "done"}')""",
    )
    assert (outcome.state, outcome.facts, len(outcome.checks), outcome.good) == ("ran", {"gpu": "none"}, 1, True)


def test_a_part_that_is_not_right_is_not_good(python: Path) -> None:
    outcome = _run(
        python,
        """print('{"kind": "check", "model": "a", "what": "b", "difference": 2, "limit": 1}')
print('{"kind": "done"}')""",
    )
    assert (outcome.state, outcome.good) == ("ran", False)


def test_a_part_that_crashes_is_told_by_its_signal(python: Path) -> None:
    outcome = _run(python, "import os; os.abort()")
    assert (outcome.state, outcome.good) == ("failed", False)
    assert outcome.reason.startswith("ended by SIGABRT; its log is ")


def test_a_part_that_ends_without_a_word_has_failed(python: Path) -> None:
    outcome = _run(python, "raise SystemExit(3)")
    assert outcome.reason.startswith("ended with status 3")


def test_a_part_that_hangs_is_ended(python: Path) -> None:
    outcome = _run(python, "import time; time.sleep(60)", 0.5)
    assert outcome.reason.startswith("not done after")


def test_a_skipped_part_is_good(python: Path) -> None:
    outcome = _run(python, """print('{"kind": "skipped", "reason": "no GPU"}')""")
    assert (outcome.state, outcome.reason, outcome.good) == ("skipped", "no GPU", True)


def test_libraries_that_packages_brought_are_found_behind_those_of_the_machine(
    python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = python.parent / "nvidia" / "cublas" / "lib"
    library.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(python.parent))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/own")
    code = """import json, os
print(json.dumps({"kind": "fact", "name": "path", "value": os.environ["LD_LIBRARY_PATH"]}))"""
    assert _run(python, code).facts["path"].split(os.pathsep)[:2] == ["/own", str(library)]
