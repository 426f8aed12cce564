"""The process that exports one model, and tells its parent of each step.

    python -m scripts.export_models.worker MODEL PIPE ARGUMENTS

It is started by ``runner.py``. Whatever libraries print goes to the log, and the parent may kill it at any time.
"""

import argparse
import logging
import sys
import traceback
import warnings
from multiprocessing.connection import Connection
from pathlib import Path

from scripts.export_models import plan, sources
from scripts.export_models.checkpoints import SourceError, voice_files
from scripts.export_models.options import parse
from scripts.export_models.progress import Conditions, Progress
from scripts.export_models.ways import Exported, Way, first_that_passes
from scripts.machine import processors


class Reports(Progress):
    """Sends what happens to the parent."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def step(self, name: str, done: int, total: int) -> None:
        self._connection.send(("step", name, done, total))

    def note(self, line: str) -> None:
        self._connection.send(("note", line))


def _ways(options: argparse.Namespace, model: str, progress: Progress, folder: Path) -> list[Way]:
    """How to export a model of the checkpoint in ``folder``. Heavy imports wait until a model needs them."""
    conditions, target = Conditions(processors(), progress), options.repository / model
    if voice := plan.voice_of(model):
        from scripts.export_models.voices import export as voices

        return voices.ways(model, voice_files(folder, voice)[0], target, conditions)
    if plan.CHECKPOINTS[model].kind == "whisper":
        from scripts.export_models.whisper import export as whisper

        return whisper.ways(model, folder, target / "1", options.precision, conditions)
    from scripts.export_models.text import export as text

    return text.ways(model, folder, target / "1", options.precision, conditions)


def export(options: argparse.Namespace, model: str, progress: Progress) -> Exported:
    """Fetch a model's checkpoint and export it; ``SourceError`` where no way passes."""
    source = sources.source_of(options.source, options.folder, options.work, progress)
    folder = source.fetch(plan.CHECKPOINTS[model])
    progress.step("loading", 0, 1)
    return first_that_passes(_ways(options, model, progress, folder), progress, strict=options.strict)


def main(arguments: list[str]) -> None:
    model, handle, *given = arguments
    connection = Connection(int(handle), readable=False)
    # transformers and the converter tell of their own affairs; the checks are what counts here.
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    try:
        connection.send(("ended", export(parse(given), model, Reports(connection))))
    except SourceError as error:
        connection.send(("ended", str(error)))
    except Exception as error:
        # The boundary to whatever libraries raise over a checkpoint: a sentence for the parent, all in the log.
        traceback.print_exc()
        reason = str(error).strip().partition("\n")[0]
        connection.send(("ended", f"{type(error).__name__}: {reason}" if reason else type(error).__name__))


if __name__ == "__main__":
    main(sys.argv[1:])
