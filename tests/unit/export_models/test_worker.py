"""The process that exports one model tells its parent what came of it."""

import os
from multiprocessing import Pipe
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from scripts.export_models import sources, worker
from scripts.export_models.checkpoints import SourceError
from scripts.export_models.parity import Check
from scripts.export_models.ways import Exported, Way


def _told(monkeypatch: pytest.MonkeyPatch, export: Any) -> list[tuple[Any, ...]]:
    monkeypatch.setattr(sources, "source_of", lambda *_: MagicMock())
    monkeypatch.setattr(worker, "_ways", export)
    reader, writer = Pipe(duplex=False)
    worker.main(["m3_embedder", str(os.dup(writer.fileno())), "--precision", "fp16", "--work", str(Path())])
    writer.close()
    told = list[tuple[Any, ...]]()
    while not told or told[-1][0] != "ended":
        told.append(reader.recv())
    reader.close()
    return told


def test_an_export_that_passed_is_told_with_its_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    check = Check("m", "w", 0, 1)
    told = _told(monkeypatch, lambda *_: [Way("fp16", lambda: [check])])
    assert told == [("step", "loading", 0, 1), ("ended", Exported("fp16", [check]))]


def test_one_that_failed_is_told_with_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    *_, (kind, reason) = _told(monkeypatch, lambda *_: [Way("fp16", lambda: [Check("m", "w", 2, 1)])])
    assert (kind, reason) == ("ended", "no way to export it passes: fp16: w is 2, over 1")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (SourceError("it has no weights"), "it has no weights"),
        (ValueError("no such layer\nat line 1"), "ValueError: no such layer"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_whatever_a_library_raises_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    def ways(*_: object) -> list[Way]:
        raise error

    assert _told(monkeypatch, ways)[-1] == ("ended", reason)
