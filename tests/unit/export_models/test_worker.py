"""One process of an export: what it fetches, tells and stamps."""

import os
import resource
from contextlib import nullcontext
from multiprocessing import Pipe
from pathlib import Path

import numpy as np
import pytest

from scripts.export_models import stamp, worker
from scripts.export_models.checkpoints import VOICES, Checkpoint
from scripts.export_models.graphs.parity import Check, not_checked
from scripts.export_models.sources import FolderSource
from scripts.export_models.stamp import Stamp
from scripts.export_models.worker import Job


def _stamped(repository: Path, checks: list[Check], monkeypatch: pytest.MonkeyPatch) -> Stamp | None:
    """The stamp after a worker whose export gave these checks."""
    (repository / "m3_embedder" / "1").mkdir(parents=True)
    monkeypatch.setattr(worker, "_export", lambda *_: checks)
    job = Job("demo", "", str(repository), "", "", "fp16", "float16", ["1.19.2"], {"m3_embedder": "print"}, 1)
    reader, writer = Pipe(duplex=False)
    worker.main([job.written(), str(os.dup(writer.fileno()))])
    writer.close()
    reader.close()
    return stamp.read(repository, "m3_embedder")


def test_models_of_one_checkpoint_fetch_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Checkpoint] = []

    class Counting(FolderSource):
        def fetch(self, checkpoint: Checkpoint) -> Path:
            asked.append(checkpoint)
            return tmp_path

    monkeypatch.setattr(worker, "source_of", lambda *_: Counting(tmp_path))
    monkeypatch.setattr("scripts.export_models.voices.export.export_piper", lambda *_: [Check("m", "w", 0, 1)])
    models = ("piper_amy", "piper_ryan")
    for model in models:
        (tmp_path / model / "1").mkdir(parents=True)
    job = Job("demo", "", str(tmp_path), "", "", "fp32", "float32", [], dict.fromkeys(models, "print"), 1)
    reader, writer = Pipe(duplex=False)
    worker.main([job.written(), str(os.dup(writer.fileno()))])
    writer.close()
    reader.close()
    assert asked == [VOICES]


@pytest.mark.parametrize(("model", "refused"), [("m3_embedder", True), ("whisper_turbo", False)])
def test_a_text_models_export_gets_no_more_memory_than_it_may_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, refused: bool
) -> None:
    monkeypatch.setattr(worker, "_export", lambda *_: [Check("m", "w", float(np.empty(1_025_000_000).nbytes == 0), 1)])
    (tmp_path / model / "1").mkdir(parents=True)
    job = Job("demo", "", str(tmp_path), "", "", "fp32", "float32", [], {model: "print"}, 1)
    reader, writer = Pipe(duplex=False)
    with pytest.raises(SystemExit) if refused else nullcontext():
        worker.main([job.written(), str(os.dup(writer.fileno()))])
    writer.close()
    event = reader.recv()
    reader.close()
    assert event[:2] == ("failed" if refused else "finished", model)
    assert not refused or "Unable to allocate 7.64 GiB" in event[2]
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY


def test_an_export_that_passed_is_stamped_with_where_it_was_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _stamped(tmp_path, [Check("m", "w", 0, 1)], monkeypatch) == Stamp("print", ["1.19.2"], [])


def test_an_export_that_nobody_checked_is_stamped_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _stamped(tmp_path, [not_checked("m", "fp16")], monkeypatch) == Stamp("print", ["1.19.2"], ["fp16"])


def test_an_export_that_failed_has_no_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _stamped(tmp_path, [Check("m", "w", 0, 1), Check("m", "w", 2, 1)], monkeypatch) is None
