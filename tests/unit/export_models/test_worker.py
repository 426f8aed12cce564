"""One process of an export: what it fetches, tells and stamps."""

import os
import re
import subprocess
import sys
from multiprocessing import Pipe
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from scripts.export_models import stamp, worker
from scripts.export_models.checkpoints import VOICES, Checkpoint
from scripts.export_models.graphs.parity import Check, not_checked
from scripts.export_models.sources import FolderSource
from scripts.export_models.stamp import Stamp
from scripts.export_models.ways import Way
from scripts.export_models.worker import Job


def _stamped(repository: Path, checks: list[Check], monkeypatch: pytest.MonkeyPatch) -> Stamp | None:
    """The stamp after a worker whose export gave these checks."""
    (repository / "m3_embedder" / "1").mkdir(parents=True)
    monkeypatch.setattr(worker, "source_of", lambda *_: MagicMock())
    monkeypatch.setattr(worker, "_ways", lambda *_: [Way("fp16", lambda: checks)])
    job = Job("demo", "", str(repository), "", "fp16", False, {"m3_embedder": "print"}, 1)
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
    monkeypatch.setattr(worker, "_ways", lambda *_: [Way("rewritten", lambda: [Check("m", "w", 0, 1)])])
    models = ("piper_amy", "piper_ryan")
    for model in models:
        (tmp_path / model / "1").mkdir(parents=True)
    job = Job("demo", "", str(tmp_path), "", "fp32", False, dict.fromkeys(models, "print"), 1)
    reader, writer = Pipe(duplex=False)
    worker.main([job.written(), str(os.dup(writer.fileno()))])
    writer.close()
    reader.close()
    assert asked == [VOICES]


# A worker whose export holds 300 MB, with so much room for them.
_HOLDS = """
import sys, time
from scripts.export_models import plan, worker
from scripts.export_models.ways import Way
plan.TEXT_MEMORY = worker.held_bytes("RssAnon") + {room}
worker.source_of = lambda *_: type("Here", (), {{"fetch": lambda *_: None}})()
worker._ways = lambda *_: [Way("fp32", lambda: (b"x" * 300_000_000, time.sleep({seconds}), [])[2])]
worker.main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("model", "room", "event"),
    [
        ("m3_embedder", 100_000_000, "failed"),
        ("m3_embedder", 900_000_000, "finished"),
        ("whisper_turbo", 100_000_000, "finished"),
    ],
)
def test_a_text_models_export_ends_where_it_holds_more_memory_than_it_may(
    tmp_path: Path, model: str, room: int, event: str
) -> None:
    (tmp_path / model / "1").mkdir(parents=True)
    job = Job("demo", "", str(tmp_path), "", "fp32", False, {model: "print"}, 1)
    reader, writer = Pipe(duplex=False)
    code = _HOLDS.format(room=room, seconds=60 if event == "failed" else 0.5)
    command = [sys.executable, "-c", code, job.written(), str(writer.fileno())]
    ended = subprocess.run(command, pass_fds=[writer.fileno()], check=False)
    writer.close()
    steps = iter(reader.recv, None)
    kind, _, said = next(each for each in steps if each[0] != "step")
    reader.close()
    assert (kind, ended.returncode) == (event, 2 if event == "failed" else 0)
    assert event == "finished" or re.fullmatch(r"the export took more than \d+ MB of memory", said)


def test_an_export_that_passed_is_stamped_with_its_source_and_where_it_was_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _stamped(tmp_path, [Check("m", "w", 0, 1)], monkeypatch) == Stamp("print", [], "demo", "fp16")


def test_an_export_that_nobody_checked_is_stamped_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _stamped(tmp_path, [not_checked("m", "fp16")], monkeypatch) == Stamp("print", ["fp16"], "demo", "fp16")


def test_an_export_that_failed_has_no_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _stamped(tmp_path, [Check("m", "w", 0, 1), Check("m", "w", 2, 1)], monkeypatch) is None
