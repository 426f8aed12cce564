"""The process that exports one model sends its steps and writes the stamp."""

import json
import os
from dataclasses import asdict
from multiprocessing import Pipe
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from scripts.export_models import sources, stamp, worker
from scripts.export_models.checkpoints import SourceError
from scripts.export_models.parity import Check, not_checked
from scripts.export_models.stamp import Stamp
from scripts.export_models.ways import Way

WANTED = Stamp("digest", "fp16", 1, "hub")


def _exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ways: Any) -> tuple[list[str], Stamp | None]:
    """The steps that were sent, and the stamp that was written."""
    monkeypatch.setattr(sources, "source_of", lambda *_: MagicMock())
    monkeypatch.setattr(worker, "_ways", ways)
    reader, writer = Pipe(duplex=False)
    arguments = ["--source", "hub", "--repository", str(tmp_path)]
    worker.main(["m3_embedder", json.dumps(asdict(WANTED)), str(os.dup(writer.fileno())), *arguments])
    writer.close()
    steps = []
    while reader.poll():
        try:
            steps.append(reader.recv())
        except EOFError:
            break
    reader.close()
    return steps, stamp.read(tmp_path, "m3_embedder")


def test_a_successful_export_writes_its_way_and_what_was_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = [Check("m3_embedder", "1 - cosine", 0, 1), not_checked("m3_embedder", "on CUDA")]
    steps, made = _exported(tmp_path, monkeypatch, lambda *_: [Way("fp16", lambda: checks)])
    assert steps == ["m3_embedder: loading"]
    assert made == Stamp("digest", "fp16", 1, "hub", way="fp16", not_checked=["on CUDA"])
    assert "m3_embedder  1 - cosine  0.00e+00    1      ok\n" in capsys.readouterr().out


def test_a_step_of_several_parts_is_sent_with_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ways(_: Any, __: str, progress: Any, ___: Path) -> list[Way]:
        list(progress.over([1, 2], "building"))
        return [Way("fp16", list)]

    steps, _ = _exported(tmp_path, monkeypatch, ways)
    assert steps[1:] == [f"m3_embedder: building {percent}%" for percent in (0, 50, 100)]


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
    def ways(*_: object) -> list[Way]:
        raise error

    assert _exported(tmp_path, monkeypatch, ways)[1] == Stamp(source="hub", failed=reason)
