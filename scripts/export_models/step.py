"""Exports one model, in a process of its own: compiled code handles no signal until it returns, so it may be killed.

    python -m scripts.export_models.step SCREEN DONE TOTAL MODEL ARGUMENTS

It shows its progress on the open file SCREEN, after DONE of TOTAL models, and leaves the model's stamp. What it and
libraries print goes to the log. The exit code is 1 if the model could not be exported.
"""

import argparse
import logging
import os
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import TextIO

from frontend.catalogue.voices import KOKORO
from scripts.export_models import plan, sources, stamp
from scripts.export_models.added_models import prepare, promise_of
from scripts.export_models.checkpoints import PROMISES, SourceError, check_model, in_words, voice_files
from scripts.export_models.options import chosen_source, parse
from scripts.export_models.parity import Exported, first_that_passes, table
from scripts.export_models.progress import Progress, repeated
from scripts.export_models.stamp import Stamp
from scripts.machine import held_bytes
from scripts.progress_bar import ProgressBar

_FAILED = 1
_TICK_SECONDS = 0.2


class _Shown(Progress):
    """Shows the steps of a model on the screen, again and again, and logs when each begins."""

    def __init__(self, screen: TextIO, done: int, total: int, model: str) -> None:
        self._bar, self._done, self._model = ProgressBar(screen, "exporting", total), done, model
        self._logged, self._text = "", model

    def step(self, name: str, done: int, total: int) -> None:
        if name != self._logged:
            self._logged = name
            print(time.strftime("%H:%M:%S"), f"{self._model}: {name}", flush=True)
        self._text = f"{self._model}: {name}" + (f" {100 * done // total}%" if total > 1 else "")

    @contextmanager
    def watched(self, options: argparse.Namespace) -> Iterator[None]:
        """Show the progress within the block, and end a text model's export that takes too much memory.

        The kernel's own limits would count mapped files.
        """
        kind = chosen_source(options).checkpoint_of(self._model).kind
        most = plan.TEXT_MEMORY if kind == "text" else float("inf")

        def watch() -> None:
            self._bar.show(self._done, self._text)
            if held_bytes("RssAnon") > most:
                reason = f"the export took more than {in_words(most)} of memory"
                failed = stamp.failed(self._model, reason, options.source, options.speakers)
                stamp.write(options.repository, self._model, failed)
                os._exit(_FAILED)

        self._bar.show(self._done, self._text)
        with closing(self._bar), repeated(_TICK_SECONDS, watch):
            yield


def _export(options: argparse.Namespace, model: str, progress: Progress) -> Exported:
    """Export a model in the first way whose checks pass; each kind of model imports its own libraries."""
    source = chosen_source(options, progress)
    checkpoint, target = source.checkpoint_of(model), options.repository / model
    folder, own = source.fetch(checkpoint), options.own.get(model)
    precision = own.precision if own and own.precision != "auto" else options.precision
    progress.step("loading", 0, 1)
    passing = partial(first_that_passes, strict=options.strict)
    if name := plan.voice_of(model):
        from scripts.export_models import voice

        file, added = voice_files(folder, name)[0], options.added.voices.get(model)
        return passing(voice.WAYS, partial(voice.export, model, file, target, progress=progress, added=added))
    if model == KOKORO:
        from scripts.export_models.kokoro import export as kokoro

        styles, options.without = sources.styles(options.speakers, options.work, progress)
        write = partial(kokoro.export, model, folder, target / "1", styles=styles, progress=progress)
        return passing(kokoro.ways(), write)
    if own:
        check_model(folder, checkpoint.kind)
        (target / "1").mkdir(parents=True, exist_ok=True)
    if checkpoint.kind == "whisper":
        from scripts.export_models import whisper

        write = partial(whisper.export, model, folder, target / "1", progress=progress)
        return passing(whisper.ways(precision, folder), write)
    from scripts.export_models import text

    loaded = text.load(promise_of(own, folder), folder, own.pooling) if own else text.load(PROMISES[model], folder)
    precisions, why = text.precisions(precision, folder, options.work / "speeds.json", progress)
    write = partial(text.export, loaded, folder, target / "1", progress=progress)
    return replace(passing(precisions, write), why=why)


def _stamped(options: argparse.Namespace, model: str, exported: Exported) -> Stamp:
    source, digests = chosen_source(options), stamp.Digests(options.work / "digests.json")
    wanted = stamp.wanted(model, source, options.source, options.precision, digests, options.speakers, options.own)
    not_checked = [check.what for check in exported.checks if check.difference is None]
    made = replace(wanted, way=exported.way, why=exported.why, skipped=exported.skipped, not_checked=not_checked)
    without = getattr(options, "without", {})
    return stamp.without(made, without) if without else made


def main(arguments: Sequence[str]) -> int:
    screen, done, total, model, *given = arguments
    options = parse(given)
    # TorchScript makes an If of some functions of DeBERTa, which OpenVINO does not run. torch reads this at its import.
    os.environ["PYTORCH_JIT"] = "0"
    # Warnings of libraries are not about the export, which has checks of its own.
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    with open(int(screen), "w", encoding="utf-8") as file:
        made = _made(options, model, _Shown(file, int(done), int(total), model))
    stamp.write(options.repository, model, made)
    return _FAILED if made.failed else 0


def _made(options: argparse.Namespace, model: str, shown: _Shown) -> Stamp:
    """Export a model; returns its stamp, which says it if that failed."""
    try:
        with shown.watched(options):
            exported = _export(options, model, shown)
            if own := options.own.get(model):
                source = chosen_source(options)
                prepare(options.repository, own, promise_of(own, source.fetch(source.checkpoint_of(model))))
        print(table(exported.checks), f"{model} is exported in {exported.way}", *exported.skipped, sep="\n")
        return _stamped(options, model, exported)
    except Exception as error:
        # Libraries raise anything over a checkpoint.
        traceback.print_exc()
        reason, kind = str(error).strip().partition("\n")[0], type(error).__name__
        if not isinstance(error, SourceError):
            reason = f"{kind}: {reason}" if reason else kind
        return stamp.failed(model, reason, options.source, options.speakers)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
