"""A running export ends with its processes, and says why a process has ended."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scripts.export_models import plan, runner, stamp
from scripts.export_models.options import parse
from scripts.export_models.stamp import Stamp
from tests.conftest import ROOT


@contextmanager
def _exporting(work: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A running export of a model that takes a while, and the id of its worker."""
    command = [sys.executable, "-m", "scripts.export_models", "--only", "m3_embedder", "--precision", "fp32"]
    folders = ["--repository", str(work / "repository"), "--work", str(work / "work")]
    (work / "repository" / "m3_embedder" / "1").mkdir(parents=True)
    (work / "work").mkdir()
    (work / "work" / "demo").symlink_to(ROOT / "build" / "export" / "demo")
    process = subprocess.Popen(
        [*command, *folders], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline().endswith(" exporting 0/1 models, m3_embedder\n")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
        (child,) = map(int, children)
        yield process, child
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_an_export_with_its_worker(tmp_path: Path, number: signal.Signals) -> None:
    with _exporting(tmp_path) as (process, child):
        handle = os.pidfd_open(child)
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
        with pytest.raises(ProcessLookupError):
            signal.pidfd_send_signal(handle, 0)
        os.close(handle)
    assert process.returncode == 128 + number
    assert errors.splitlines()[-1] == f"export stopped by {number.name}"
    assert "Traceback" not in errors


@pytest.mark.parametrize("gap", [0.0, 0.01, 0.1])
def test_a_second_signal_does_not_interrupt_the_end_of_an_export(tmp_path: Path, gap: float) -> None:
    with _exporting(tmp_path) as (process, _):
        process.send_signal(signal.SIGINT)
        time.sleep(gap)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors.splitlines()[-1]) == (130, "export stopped by SIGINT")


def test_a_killed_export_leaves_no_worker_behind(tmp_path: Path) -> None:
    with _exporting(tmp_path) as (process, child):
        handle = os.pidfd_open(child)
        process.kill()
        process.wait(30)
        assert select.select([handle], [], [], 30)[0]
        os.close(handle)


def test_a_killed_worker_is_a_sentence(tmp_path: Path) -> None:
    with _exporting(tmp_path) as (process, child):
        os.kill(child, signal.SIGKILL)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "m3_embedder could not be exported: its process was killed: there was not enough memory" in errors


# Replaces the worker.
_WORKER = """
import sys, time
from pathlib import Path
from scripts.export_models import stamp
from scripts.export_models.stamp import Stamp
memory = b"x" * 300_000_000
time.sleep({seconds})
stamp.write(Path("{repository}"), sys.argv[1], Stamp(way="fp32"))
sys.exit({status})
"""


def _run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, seconds: float, status: int = 0) -> Stamp:
    """Run a worker that takes 300 MB for so long and then exits with a status."""
    program = tmp_path / "python"
    code = _WORKER.format(seconds=seconds, repository=tmp_path, status=status).replace('"', '\\"')
    program.write_text(f'#!/bin/sh\nshift 2\nexec {sys.executable} -c "{code}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    options = parse(["--repository", str(tmp_path), "--work", str(tmp_path), "--source", "hub"])
    return runner.run(model, Stamp(source="hub"), options, [], lambda step: None)


def test_a_text_model_whose_export_takes_too_much_memory_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "TEXT_MEMORY", 200_000_000)
    made = _run(tmp_path, monkeypatch, "m3_embedder", 60)
    assert made == Stamp(source="hub", failed="the export took more than 200 MB of memory")


@pytest.mark.parametrize(("model", "most"), [("m3_embedder", 900_000_000), ("whisper_turbo", 200_000_000)])
def test_an_export_within_its_limit_or_without_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, most: int
) -> None:
    monkeypatch.setattr(plan, "TEXT_MEMORY", most)
    assert _run(tmp_path, monkeypatch, model, 0.5) == Stamp(way="fp32")


def test_a_worker_that_ends_without_a_stamp_is_told_by_its_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamp, "read", lambda *_: None)
    made = _run(tmp_path, monkeypatch, "whisper_turbo", 0, status=3)
    assert made.failed == "its process ended with status 3"
