"""The process that exports one model: how it ends, and the stamp that it leaves."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from scripts.export_models import __main__ as export
from scripts.export_models import plan, stamp, step
from scripts.export_models.checkpoints import EMBEDDER, SourceError
from scripts.export_models.options import parse
from scripts.export_models.parity import Check, Exported, not_checked
from scripts.export_models.stamp import Stamp
from tests.conftest import ROOT


@contextmanager
def _exporting(work: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A running export of a model that takes a while, and the id of its step."""
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
def test_a_signal_ends_an_export_with_its_step(tmp_path: Path, number: signal.Signals) -> None:
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


def test_a_killed_export_leaves_no_step_behind(tmp_path: Path) -> None:
    with _exporting(tmp_path) as (process, child):
        handle = os.pidfd_open(child)
        process.kill()
        process.wait(30)
        assert select.select([handle], [], [], 30)[0]
        os.close(handle)


def test_a_killed_step_is_a_sentence(tmp_path: Path) -> None:
    with _exporting(tmp_path) as (process, child):
        os.kill(child, signal.SIGKILL)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "m3_embedder could not be exported: its process was killed: there was not enough memory" in errors


# Replaces a step, whose second argument to Python is its module.
_PROGRAM = """#!/bin/sh
exit 3
"""


def test_a_step_that_ends_without_a_stamp_is_told_by_its_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "python"
    program.write_text(_PROGRAM, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    options = parse(["--repository", str(tmp_path), "--work", str(tmp_path), "--source", "hub"])
    made = export._made(options, [], "whisper_turbo", 0, 1)
    assert made == Stamp(source="hub", failed="its process ended with status 3")


Export = Callable[[Any, str, Any], Exported]


def _step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, export: Export) -> tuple[int, str, Stamp | None]:
    """The exit code of a step that exports in this way, what it showed, and the stamp that it left."""
    monkeypatch.setattr(step, "chosen_source", lambda *_: MagicMock(checkpoint_of=lambda _: EMBEDDER))
    monkeypatch.setattr(step, "_export", export)
    screen = tmp_path / "screen"
    arguments = ["--source", "hub", "--repository", str(tmp_path), "--work", str(tmp_path), "--precision", "fp16"]
    code = step.main([str(os.open(screen, os.O_WRONLY | os.O_CREAT)), "1", "3", "m3_embedder", *arguments])
    return code, screen.read_text(encoding="utf-8"), stamp.read(tmp_path, "m3_embedder")


def test_an_export_leaves_its_way_and_what_was_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = [Check("m3_embedder", "1 - cosine", 0, 1), not_checked("m3_embedder", "on CUDA")]
    exported = Exported("fp16", checks, ["int8: too much"], "fp16 1 ms")
    code, _, made = _step(tmp_path, monkeypatch, lambda *_: exported)
    assert code == 0
    assert made is not None
    assert (made.precision, made.source, made.version) == ("fp16", "hub", plan.version_of(EMBEDDER))
    assert (made.way, made.skipped, made.why) == ("fp16", ["int8: too much"], "fp16 1 ms")
    assert made.not_checked == ["on CUDA"]
    assert "m3_embedder  1 - cosine  0.00e+00    1      ok\n" in capsys.readouterr().out


def test_steps_are_shown_with_their_share_and_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("scripts.progress_bar._LINE_SECONDS", 0.0)
    monkeypatch.setattr(step, "_TICK_SECONDS", 0.01)

    def exported(_: Any, model: str, progress: Any) -> Exported:
        for _part in progress.over([1, 2], "building"):
            time.sleep(0.3)
        return Exported("fp16", [])

    _, shown, _ = _step(tmp_path, monkeypatch, exported)
    lines = [line.partition(" ")[2] for line in shown.splitlines()]
    assert lines[0] == "exporting 1/3 models, m3_embedder"
    assert "exporting 1/3 models, m3_embedder: building 50%" in lines
    assert [line[9:] for line in capsys.readouterr().out.splitlines()[:1]] == ["m3_embedder: building"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (SourceError("it has no weights"), "it has no weights"),
        (ValueError("no such layer\nat line 1"), "ValueError: no such layer"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_whatever_a_library_raises_is_one_sentence_in_the_stamp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    def exported(*_: object) -> Exported:
        raise error

    code, _, made = _step(tmp_path, monkeypatch, exported)
    assert (code, made) == (1, Stamp(source="hub", failed=reason))


# Exports nothing for a while, under a limit, and holds 300 MB.
_LIMITED = """
import sys, time
from scripts.export_models import plan, step
from scripts.export_models.parity import Exported
def export(*_):
    memory = b"x" * 300_000_000
    time.sleep({seconds})
    return Exported("fp32", [])
plan.TEXT_MEMORY, step._export = {most}, export
sys.exit(step.main(sys.argv[1:]))
"""


def _limited(folder: Path, model: str, most: int, seconds: float) -> Stamp | None:
    arguments = ["2", "0", "1", model, "--repository", str(folder), "--work", str(folder), "--source", "hub"]
    program = _LIMITED.format(seconds=seconds, most=most)
    subprocess.run([sys.executable, "-c", program, *arguments], cwd=ROOT, check=False, capture_output=True, timeout=60)
    return stamp.read(folder, model)


def test_a_text_model_whose_export_takes_too_much_memory_is_ended(tmp_path: Path) -> None:
    made = _limited(tmp_path, "m3_embedder", 200_000_000, 60)
    assert made == Stamp(source="hub", failed="the export took more than 200 MB of memory")


@pytest.mark.parametrize(("model", "most"), [("m3_embedder", 900_000_000), ("whisper_turbo", 200_000_000)])
def test_an_export_within_its_limit_or_without_one_goes_on(tmp_path: Path, model: str, most: int) -> None:
    made = _limited(tmp_path, model, most, 0.5)
    assert made is not None
    assert (made.way, made.failed) == ("fp32", "")
