"""quartet check: problems of the settings and their files, without a start."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from frontend.access.jwks import Jwks, is_address
from frontend.catalogue.exports import read_export, read_exports
from frontend.catalogue.models import EMBEDDINGS, RERANK, SPEECH, TRANSCRIPTIONS, Model
from frontend.commands.reach import reach
from frontend.commands.tables import columns
from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from frontend.database.engine import DatabaseUrlError, parse_url
from frontend.operations.packed_model import load_tokenizer
from frontend.operations.speech.voices import load
from frontend.operations.transcription.abilities import Abilities, check_translation

_PROBLEMS = 2  # exit status
# Errors that the readers of a model's files raise for missing or damaged files.
_BAD_FILES = (OSError, ValueError, KeyError, TypeError)


def add_parsers(commands: Any) -> None:
    check = commands.add_parser("check", help="list problems of the settings, without a start")
    check.add_argument("--reach", action="store_true", help="also call Redis, the database, the Tritons and others")
    check.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print a line for each problem and return 2; or print how each model was exported.

    With ``--reach``, print a line for each service too.
    """
    found = problems(settings)
    for problem in found:
        print(problem, file=sys.stderr)
    if not found:
        print(f"the settings are good; served: {', '.join(settings.served.ids())}")
        print(*exports(settings), sep="\n")
    lines = asyncio.run(reach(settings)) if arguments.reach else []
    for line, good in lines:
        print(line, file=sys.stdout if good else sys.stderr)
    return 0 if not found and all(good for _, good in lines) else _PROBLEMS


def problems(settings: Settings) -> list[str]:
    """What is wrong with the settings and the files that they name, a line each."""
    checks = (_database, _keys, _tritons, _floors, _models, _charges)
    return [problem for check in checks for problem in check(settings)]


def exports(settings: Settings) -> Iterator[str]:
    """The precision in which each Triton model was exported, and the skipped ones with the reason."""
    exports = read_exports(settings.model_repository, settings.served.triton_models)
    lines = columns([(model, export.way or "exported in a way that is not known") for model, export in exports.items()])
    for line, export in zip(lines, exports.values(), strict=True):
        yield line
        yield from (f"  skipped {each}" for each in export.skipped)


def _database(settings: Settings) -> Iterator[str]:
    try:
        parse_url(settings.database)
    except DatabaseUrlError as error:
        yield f"QUARTET_DATABASE: {error}"


def _keys(settings: Settings) -> Iterator[str]:
    source = settings.jwt_jwks
    try:
        if source and not is_address(source):
            asyncio.run(Jwks(source, settings.jwt_jwks_seconds).load())
    except SettingsError as error:
        yield str(error)
    except _BAD_FILES as error:
        yield f"QUARTET_JWT_JWKS: {source}: {_reason(error)}"


def _tritons(settings: Settings) -> Iterator[str]:
    served = settings.served.triton_models
    for triton in settings.tritons:
        for model in sorted({*triton.models, *triton.concurrency} - set(served)):
            yield f"pools.{triton.name}: {model!r} is not served; there are {', '.join(served)}"
    for model in served:
        if not any(triton.slots([model], 0) for triton in settings.tritons):
            yield f"pools: none has {model!r}, which is served"


def _floors(settings: Settings) -> Iterator[str]:
    served = settings.served.triton_models
    for model in sorted(settings.floors.keys() - set(served)):
        yield f"floors.{model}: is not served; there are {', '.join(served)}"


def _models(settings: Settings) -> Iterator[str]:
    """Problems of the model files that a frontend reads."""
    repository = settings.model_repository
    if not repository.is_dir():
        yield f"QUARTET_MODEL_REPOSITORY: {repository}: there is no such folder"
        return
    # A failed model of several voices is one problem.
    voices = {voice.triton_model: voice for voice in settings.served.voices}
    readers: list[tuple[str, Callable[[], object]]] = [
        (model, partial(load, voice, repository)) for model, voice in voices.items()
    ]
    readers += [
        (model.triton_model, partial(_READERS[model.operation], repository, model))
        for model in settings.served.models
        if model.operation != SPEECH
    ]
    # The settings file names them, and no request can.
    for model in settings.added.absent:
        reason = read_export(repository, model.triton_model).failed or "export it"
        yield f"models.{model.id}: is not exported, so it is not served: {reason}"
    readers += [(name, partial(check_translation, repository, name)) for name in settings.served.translating]
    for name, read in readers:
        if failed := read_export(repository, name).failed:
            yield f"QUARTET_MODEL_REPOSITORY: {name} could not be exported: {failed}"
            continue
        try:
            read()
        except SettingsError as error:
            yield str(error)
        except _BAD_FILES as error:
            yield f"QUARTET_MODEL_REPOSITORY: {name} is not exported: {_reason(error)}"


_READERS: dict[str, Callable[[Path, Model], object]] = {
    TRANSCRIPTIONS: lambda repository, model: Abilities.of(repository, model.triton_model),
    EMBEDDINGS: load_tokenizer,
    RERANK: load_tokenizer,
}


def _charges(settings: Settings) -> Iterator[str]:
    """Whether charges can be written to the folder, or to its first existing parent."""
    folder = settings.usage_folder.absolute()
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not existing.is_dir():
        yield f"QUARTET_USAGE_FOLDER: {existing} is no folder"
    elif not os.access(existing, os.W_OK | os.X_OK):
        yield f"QUARTET_USAGE_FOLDER: {existing} cannot be written to"


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return f"{type(error).__name__}: {error}"
