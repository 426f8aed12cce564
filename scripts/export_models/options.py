"""The arguments of the command; the process of each model gets them too."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from scripts.export_models import plan, space
from scripts.export_models.added import AddedVoices, speakers
from scripts.export_models.added_models import added_of, checkpoint_of
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.sources import Sources, source_of

_PRECISIONS = ("auto", "int8", "bf16", "fp32", "fp16")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options, with the ``added`` voices of Piper, the ``speakers`` of Kokoro, and the operator's ``own`` models by
    Triton model. ``whole`` is whether all models are exported.

    Raises ``SourceError`` if a folder does not exist, or the settings file has a voice or a model that cannot be.
    """
    parser = argparse.ArgumentParser(
        prog="python -m scripts.export_models", description="Export models into the Triton model repository."
    )
    parser.add_argument("--source", choices=("demo", "hub", "folder"), default="demo")
    parser.add_argument("--folder", type=Path, help="checkpoints on disk, laid out as on the hub")
    parser.add_argument("--voices", type=Path, help="a folder with Piper voices to add")
    parser.add_argument("--repository", type=Path, default=Path("model_repository"))
    parser.add_argument("--work", type=Path, default=space.WORK, help="downloads, logs, intermediate files")
    parser.add_argument("--precision", choices=_PRECISIONS, default="auto", help="the first that is tried")
    parser.add_argument("--strict", action="store_true", help="in that precision or not at all")
    parser.add_argument("--only", dest="models", action="append", default=[], metavar="MODEL")
    parser.add_argument("--force", action="store_true", help="export again what is there already")
    parser.add_argument("--check", action="store_true", help="only say whether the source has what an export needs")
    parser.add_argument("--stale", action="store_true", help="only say by the exit code 1 that a model is out of date")
    options = parser.parse_args(arguments)
    options.speakers = speakers(options.source, os.environ)
    options.added = AddedVoices.of(options.voices, options.speakers)
    options.own = {added.triton_model: added for added in added_of(os.environ)}
    known = [*plan.models_of(options.speakers), *options.added.models, *options.own]
    if unknown := set(options.models) - set(known):
        parser.error(f"argument --only: there is no {min(unknown)!r}; there are {', '.join(known)}")
    options.whole = not options.models
    options.models = options.models or known
    return options


def chosen_source(options: argparse.Namespace, progress: Progress = SILENT) -> Sources:
    """Where the options' models come from."""
    own = {model: checkpoint_of(added, os.environ) for model, added in options.own.items()}
    return source_of(options.source, options.folder, options.work, progress, options.voices, own)
