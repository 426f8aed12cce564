"""The process that exports one model. ``runner.py`` starts it and may kill it at any time.

    python -m scripts.export_models.worker MODEL STAMP PIPE ARGUMENTS

It sends each step through the pipe and ends with the model's stamp. What it and libraries print goes to the log.
"""

import argparse
import json
import logging
import os
import sys
import time
import traceback
import warnings
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from frontend.catalogue.voices import KOKORO
from scripts.export_models import plan, sources, stamp
from scripts.export_models.checkpoints import PROMISES, SourceError, voice_files
from scripts.export_models.options import parse
from scripts.export_models.parity import table
from scripts.export_models.progress import Progress
from scripts.export_models.stamp import Stamp
from scripts.export_models.ways import Exported, Way, first_that_passes


class _Reports(Progress):
    """Sends the steps of a model to the parent, and logs when each begins."""

    def __init__(self, connection: Connection, model: str) -> None:
        self._connection, self._model, self._logged = connection, model, ""

    def step(self, name: str, done: int, total: int) -> None:
        if name != self._logged:
            self._logged = name
            print(time.strftime("%H:%M:%S"), f"{self._model}: {name}", flush=True)
        self._connection.send(f"{self._model}: {name}" + (f" {100 * done // total}%" if total > 1 else ""))


def _export(options: argparse.Namespace, model: str, progress: Progress) -> Exported:
    source = sources.source_of(options.source, options.folder, options.work, progress, options.voices)
    folder = source.fetch(plan.checkpoint_of(model))
    progress.step("loading", 0, 1)
    return first_that_passes(_ways(options, model, progress, folder), strict=options.strict)


def _ways(options: argparse.Namespace, model: str, progress: Progress, folder: Path) -> list[Way]:
    """The ways to export a model of the checkpoint in ``folder``; each kind of model imports its own libraries."""
    target = options.repository / model
    if voice := plan.voice_of(model):
        from scripts.export_models.voices import export as voices

        added = options.added.voices.get(model)
        return voices.ways(model, voice_files(folder, voice)[0], target, progress, added)
    if model == KOKORO:
        from scripts.export_models.kokoro import export as kokoro

        styles, options.without = sources.styles(options.speakers, options.work, progress)
        return kokoro.ways(model, folder, target / "1", styles, progress)
    if plan.checkpoint_of(model).kind == "whisper":
        from scripts.export_models import whisper

        ways = whisper.ways(options.precision)
        return [Way(each, partial(whisper.export, model, folder, target / "1", each, progress)) for each in ways]
    from scripts.export_models import text

    tried, why = text.precisions(options.precision, folder, options.work / "speeds.json", progress)
    loaded = text.load(PROMISES[model], folder)
    return [Way(each, partial(text.export, loaded, folder, target / "1", each, progress), why) for each in tried]


def main(arguments: list[str]) -> None:
    model, wanted, pipe, *given = arguments
    options, stamped = parse(given), Stamp(**json.loads(wanted))
    # Warnings of libraries are not about the export, which has checks of its own.
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    # TorchScript makes an If of some functions of DeBERTa, which OpenVINO does not run. torch reads this at its import.
    os.environ["PYTORCH_JIT"] = "0"
    try:
        exported = _export(options, model, _Reports(Connection(int(pipe), readable=False), model))
    except Exception as error:
        # Libraries raise anything over a checkpoint.
        traceback.print_exc()
        reason, kind = str(error).strip().partition("\n")[0], type(error).__name__
        if not isinstance(error, SourceError):
            reason = f"{kind}: {reason}" if reason else kind
        made = stamp.failed(model, reason, stamped.source, options.speakers)
    else:
        print(table(exported.checks), f"{model} is exported in {exported.way}", *exported.skipped, sep="\n")
        not_checked = [check.what for check in exported.checks if check.difference is None]
        chosen = replace(stamped, way=exported.way, why=exported.why, skipped=exported.skipped)
        made = replace(chosen, not_checked=not_checked)
        if without := getattr(options, "without", {}):
            made = stamp.without(made, without)
    stamp.write(options.repository, model, made)


if __name__ == "__main__":
    main(sys.argv[1:])
