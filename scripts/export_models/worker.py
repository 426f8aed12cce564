"""One process of an export: exports the models of a lane in turn and tells its parent of each step.

It is started by ``lanes.py``. Whatever libraries print goes to a log, and the parent may kill it at any time.
"""

import json
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, cast

from frontend.catalogue.models import EMBEDDINGS
from scripts.export_models import plan, sources, stamp
from scripts.export_models.checkpoints import Checkpoint, SourceError, in_words, voice_files
from scripts.export_models.graphs.conditions import Conditions
from scripts.export_models.graphs.parity import Check
from scripts.export_models.graphs.progress import Progress
from scripts.export_models.graphs.runtimes import OtherRuntime
from scripts.export_models.periodic import every
from scripts.machine import held_bytes

if TYPE_CHECKING:
    from scripts.export_models.text.export import Choice


_LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class Job:
    """What a worker is told, as JSON; ``fingerprints`` holds the models to export, each with its stamp's."""

    source: str
    folder: str
    repository: str
    work: str
    runtimes: str
    precision: str
    compute_type: str
    versions: list[str]
    fingerprints: dict[str, str]
    threads: int

    def written(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> "Job":
        return cls(**json.loads(text))


class Reports(Progress):
    """Sends what happens to one model to the parent."""

    def __init__(self, connection: Connection, model: str) -> None:
        self._connection, self._model = connection, model

    def step(self, name: str, done: int, total: int) -> None:
        self._connection.send(("step", self._model, name, done, total))

    def note(self, line: str) -> None:
        self._connection.send(("note", self._model, line))

    def finished(self, checks: list[Check]) -> None:
        self._connection.send(("finished", self._model, checks))

    def failed(self, reason: str) -> None:
        self._connection.send(("failed", self._model, reason))


def source_of(name: str, folder: str, work: Path, progress: Progress) -> sources.Source:
    """The source of that name; ``folder`` is that of checkpoints on disk."""
    if name == "hub":
        return sources.HubSource(work / "hub", progress=progress)
    return sources.FolderSource(Path(folder)) if name == "folder" else sources.DemoSource(work / "demo", progress)


def _export(job: Job, model: str, progress: Progress, fetched: dict[Checkpoint, Path]) -> list[Check]:
    """Heavy imports wait until a model needs them; what is ``fetched`` serves all models of its checkpoint."""
    checkpoint, target = plan.CHECKPOINTS[model], Path(job.repository) / model
    if checkpoint not in fetched:
        fetched[checkpoint] = source_of(job.source, job.folder, Path(job.work), progress).fetch(checkpoint)
    folder = fetched[checkpoint]
    progress.step("loading", 0, 1)
    runtimes = [OtherRuntime(version, Path(job.runtimes)) for version in job.versions]
    conditions = Conditions(job.threads, progress, runtimes)
    if voice := plan.voice_of(model):
        from scripts.export_models.voices.export import export_piper

        return export_piper(model, voice_files(folder, voice)[0], target, conditions)
    if checkpoint.kind == "whisper":
        from scripts.export_models.whisper.export import export_whisper

        return export_whisper(model, folder, target / "1", job.compute_type, conditions)
    from scripts.export_models.text.export import export_embedder, export_reranker
    from scripts.export_models.text.promised import PROMISES

    export = export_embedder if PROMISES[model].operation == EMBEDDINGS else export_reranker
    return export(model, folder, target / "1", cast("Choice", job.precision), conditions)


def _limited(model: str, reports: Reports) -> AbstractContextManager[None]:
    """Within the block this process ends where it holds more memory than the model's export may take.

    The kernel's own limits count mapped files or end in whatever library meets them first.
    """
    limit = plan.most_memory(model)
    if limit is None:
        return nullcontext()

    def look() -> None:
        # What is no file's.
        if held_bytes("RssAnon") > limit:
            reports.failed(f"the export took more than {in_words(limit)} of memory")
            os._exit(2)

    return every(_LOOK_SECONDS, look)


@contextmanager
def _told(reports: Reports) -> Iterator[None]:
    """One boundary for whatever libraries raise over a checkpoint: a sentence for the parent, the rest for the log."""
    try:
        yield
    except SourceError as error:
        reports.failed(str(error))
        raise SystemExit(2) from None
    except Exception as error:
        traceback.print_exc()
        reason = str(error).strip().partition("\n")[0]
        reports.failed(f"{type(error).__name__}: {reason}" if reason else type(error).__name__)
        raise SystemExit(2) from None


def main(arguments: list[str]) -> None:
    job, connection = Job.read(arguments[0]), Connection(int(arguments[1]), readable=False)
    # transformers and the converter tell of their own affairs; the checks are what counts here.
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    fetched: dict[Checkpoint, Path] = {}
    for model, fingerprint in job.fingerprints.items():
        reports = Reports(connection, model)
        with _told(reports):
            stamp.remove(Path(job.repository), model)
            with _limited(model, reports):
                checks = _export(job, model, reports, fetched)
            if not any(check.failed for check in checks):
                unchecked = [check.what for check in checks if check.difference is None]
                stamp.write(Path(job.repository), model, stamp.Stamp(fingerprint, job.versions, unchecked, job.source))
            reports.finished(checks)


if __name__ == "__main__":
    main(sys.argv[1:])
