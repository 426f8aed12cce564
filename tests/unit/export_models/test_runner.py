"""A signal ends an export with all that it started, and the end of a process is told."""

import io
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scripts.export_models import plan, runner
from scripts.export_models.progress_line import ProgressLine
from scripts.export_models.ways import Exported
from tests.conftest import ROOT


@contextmanager
def _exporting(work: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A running export of a model that takes a while, and the id of its worker, which has begun."""
    command = [sys.executable, "-m", "scripts.export_models", "--only", "m3_embedder", "--precision", "fp32"]
    places = ["--repository", str(work / "repository"), "--work", str(work / "work")]
    (work / "repository" / "m3_embedder" / "1").mkdir(parents=True)
    # What was downloaded for the tests' own models.
    (work / "work").mkdir()
    (work / "work" / "demo").symlink_to(ROOT / "build" / "export" / "demo")
    process = subprocess.Popen([*command, *places], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        assert process.stderr.readline().endswith(" exporting 0/1 models, m3_embedder: loading\n")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
        (child,) = map(int, children)
        yield process, child
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_an_export_with_its_processes(tmp_path: Path, number: signal.Signals) -> None:
    with _exporting(tmp_path) as (process, child):
        handle = os.pidfd_open(child)
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
        # Whoever is told to end ends its own first.
        with pytest.raises(ProcessLookupError):
            signal.pidfd_send_signal(handle, 0)
        os.close(handle)
    assert process.returncode == 128 + number
    assert said.splitlines()[-1] == f"export stopped by {number.name}"
    assert "Traceback" not in said


@pytest.mark.parametrize("gap", [0.0, 0.01, 0.1])
def test_a_second_signal_does_not_cut_short_the_end_of_an_export(tmp_path: Path, gap: float) -> None:
    with _exporting(tmp_path) as (process, _):
        process.send_signal(signal.SIGINT)
        time.sleep(gap)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said.splitlines()[-1]) == (130, "export stopped by SIGINT")


def test_a_killed_export_leaves_no_process_behind(tmp_path: Path) -> None:
    with _exporting(tmp_path) as (process, child):
        handle = os.pidfd_open(child)
        process.kill()
        process.wait(30)
        assert select.select([handle], [], [], 30)[0]
        os.close(handle)


def test_a_process_that_is_killed_is_one_sentence(tmp_path: Path) -> None:
    with _exporting(tmp_path) as (process, child):
        os.kill(child, signal.SIGKILL)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "m3_embedder could not be exported: its process was killed: there was not enough memory" in said


# In the place of the worker: a process that holds 300 MB and has nothing to check.
_HOLDS = """
import sys, time
from scripts.export_models import sources, worker
from scripts.export_models.ways import Way
sources.source_of = lambda *_: type("Here", (), {{"fetch": lambda *_: None}})()
worker._ways = lambda *_: [Way("fp32", lambda: (b"x" * 300_000_000, time.sleep({seconds}), [])[2])]
worker.main(sys.argv[1:])
"""


def _held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, room: int, seconds: float) -> Exported | str:
    """What comes of a process that may hold so much, within so many seconds."""
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\nshift 2\nexec {sys.executable} -c '{_HOLDS.format(seconds=seconds)}' \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(plan, "TEXT_MEMORY", room)
    return runner.run(model, [], tmp_path / "log", ProgressLine(io.StringIO(), io.StringIO(), 1))


def test_a_text_models_export_ends_where_it_holds_more_memory_than_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = _held(tmp_path, monkeypatch, "m3_embedder", 200_000_000, 60)
    assert isinstance(said, str)
    assert re.fullmatch(r"the export took more than 200 MB of memory", said)


@pytest.mark.parametrize(("model", "room"), [("m3_embedder", 900_000_000), ("whisper_turbo", 200_000_000)])
def test_one_within_its_memory_and_one_without_a_limit_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, room: int
) -> None:
    assert _held(tmp_path, monkeypatch, model, room, 0.5) == Exported("fp32", [])
