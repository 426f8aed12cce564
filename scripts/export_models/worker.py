"""One process of an export: exports the models of a lane in turn and tells its parent of each step.

It is started by ``lanes.py``. Whatever libraries print goes to a log, and the parent may kill it at any time.
"""

import json
import logging
import os
import shutil
import sys
import traceback
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

from scripts.export_models import plan, sources, stamp
from scripts.export_models.checkpoints import Checkpoint, SourceError, in_words, voice_files
from scripts.export_models.graphs.conditions import Conditions
from scripts.export_models.graphs.progress import Progress
from scripts.export_models.periodic import every
from scripts.export_models.ways import Exported, Way, first_that_passes
from scripts.machine import held_bytes

_LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class Job:
    """What a worker is told, as JSON; ``fingerprints`` holds the models to export, each with its stamp's."""

    source: str
    folder: str
    repository: str
    work: str
    precision: str
    strict: bool
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

    def finished(self, exported: Exported) -> None:
        self._connection.send(("finished", self._model, exported))

    def failed(self, reason: str) -> None:
        self._connection.send(("failed", self._model, reason))


def source_of(name: str, folder: str, work: Path, progress: Progress) -> sources.Source:
    """The source of that name; ``folder`` is that of checkpoints on disk."""
    if name == "hub":
        return sources.HubSource(work / "hub", progress=progress)
    return sources.FolderSource(Path(folder)) if name == "folder" else sources.DemoSource(work / "demo", progress)


def _ways(job: Job, model: str, progress: Progress, folder: Path) -> list[Way]:
    """How to export a model of the checkpoint in ``folder``. Heavy imports wait until a model needs them."""
    conditions, target = Conditions(job.threads, progress), Path(job.repository) / model
    if voice := plan.voice_of(model):
        from scripts.export_models.voices import export as voices

        return voices.ways(model, voice_files(folder, voice)[0], target, conditions)
    if plan.CHECKPOINTS[model].kind == "whisper":
        from scripts.export_models.whisper import export as whisper

        return whisper.ways(model, folder, target / "1", job.precision, conditions)
    from scripts.export_models.text import export as text

    return text.ways(model, folder, target / "1", job.precision, conditions)


class _Worker:
    """What has been fetched and made serves later models of the same checkpoint."""

    def __init__(self, job: Job) -> None:
        self._job, self._repository = job, Path(job.repository)
        self._fetched: dict[Checkpoint, Path] = {}
        self._made: dict[str, tuple[str, Exported]] = {}

    def export(self, model: str, fingerprint: str, progress: Progress) -> Exported:
        job, checkpoint = self._job, plan.CHECKPOINTS[model]
        stamp.remove(self._repository, model)
        if fingerprint in self._made and checkpoint.kind == "whisper":
            other, exported = self._made[fingerprint]
            exported = replace(exported, checks=[])
            source, target = (self._repository / name / "1" / "whisper" for name in (other, model))
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, copy_function=os.link)
        else:
            if checkpoint not in self._fetched:
                source_of_it = source_of(job.source, job.folder, Path(job.work), progress)
                self._fetched[checkpoint] = source_of_it.fetch(checkpoint)
            progress.step("loading", 0, 1)
            ways = _ways(job, model, progress, self._fetched[checkpoint])
            exported = first_that_passes(ways, progress, strict=job.strict)
            self._made[fingerprint] = model, exported
        not_checked = [check.what for check in exported.checks if check.difference is None]
        made = stamp.Stamp(fingerprint, not_checked, job.source, exported.way, exported.skipped)
        stamp.write(self._repository, model, made)
        return exported


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


def main(arguments: list[str]) -> None:
    job, connection = Job.read(arguments[0]), Connection(int(arguments[1]), readable=False)
    # transformers and the converter tell of their own affairs; the checks are what counts here.
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    worker = _Worker(job)
    for model, fingerprint in job.fingerprints.items():
        reports = Reports(connection, model)
        try:
            with _limited(model, reports):
                reports.finished(worker.export(model, fingerprint, reports))
        except SourceError as error:
            reports.failed(str(error))
        except Exception as error:
            # The boundary to whatever libraries raise over a checkpoint: a sentence for the parent, all in the log.
            traceback.print_exc()
            reason = str(error).strip().partition("\n")[0]
            reports.failed(f"{type(error).__name__}: {reason}" if reason else type(error).__name__)


if __name__ == "__main__":
    main(sys.argv[1:])
