"""Models that an operator adds in the table ``[models]`` of the settings file: their checkpoints and their folders.

Only the standard library is needed, because preflight runs before anything is installed.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from frontend.catalogue.added_models import LEAST_TOKENS, AddedModel, added_models, describe, described
from frontend.catalogue.models import EMBEDDINGS, RERANK, TRANSCRIPTIONS, Model
from frontend.config import reading
from frontend.config.reading import CONFIG_FILE
from scripts.export_models.checkpoints import Checkpoint, Kind, SourceError, hidden_width, read_json, usable_positions
from scripts.export_models.whisper_layout import is_english_only

# The model of the contract whose code and configurations an added one takes.
_LIKE = {EMBEDDINGS: "m3_embedder", RERANK: "m3_reranker", TRANSCRIPTIONS: "whisper_turbo"}
# What follows the encoder in models of sentence-transformers. Vectors of all have length 1.
_MODULES = {"Transformer", "Pooling", "Normalize"}
_BEAMS = re.compile(r'(?<=key: "beam_size" value \{ string_value: ")\d+')
_CONFIGS = ("config.pbtxt", "configs/gpu.pbtxt")


def added_of(environ: Mapping[str, str]) -> tuple[AddedModel, ...]:
    """The added models of the settings file; raises ``SourceError`` for one that cannot be."""
    try:
        return added_models(reading.table(environ, "models"))
    except reading.SettingsError as error:
        raise SourceError(str(error)) from None
    except ValueError as error:
        raise SourceError(f"{CONFIG_FILE}: {environ.get(CONFIG_FILE)}: models: {error}") from None


def checkpoint_of(added: AddedModel, environ: Mapping[str, str]) -> Checkpoint:
    """The checkpoint of an added model: a commit of the hub, or a folder, which is relative to the settings file."""
    kind: Kind = "whisper" if added.operation == TRANSCRIPTIONS else "text"
    name, _, commit = added.checkpoint.partition("@") if added.is_of_hub else (added.checkpoint, "", "")
    if not commit:
        name = os.path.normpath(Path(environ.get(CONFIG_FILE, "")).absolute().parent / name)
    return Checkpoint(name, commit, "", 0, (), kind, own=True)


def promise_of(added: AddedModel, folder: Path) -> Model:
    """The model, with the width and the longest text of the checkpoint in ``folder``.

    Raises ``SourceError`` for a checkpoint whose vectors the export would not compute as sentence-transformers does.
    """
    if added.operation == TRANSCRIPTIONS:
        return added.model(languages=("en",) if is_english_only(folder) else ())
    if added.max_tokens > usable_positions(folder):
        raise SourceError(f"{folder} has {usable_positions(folder)} positions, fewer than max_tokens says")
    longest = added.max_tokens or _longest(folder)
    if added.operation == EMBEDDINGS and (unknown := _modules(folder / "modules.json") - _MODULES):
        raise SourceError(f"{folder / 'modules.json'} has a layer that is not exported: {', '.join(sorted(unknown))}")
    width = hidden_width(folder) if added.operation == EMBEDDINGS else 0
    return _promise(added, max_tokens=longest, width=width)


def _longest(folder: Path) -> int:
    """The longest text, in tokens, that a checkpoint takes."""
    settings, longest = folder / "sentence_bert_config.json", usable_positions(folder)
    if settings.is_file() and (most := read_json(settings).get("max_seq_length")) is not None:
        longest = min(longest, most) if type(most) is int else 0
    if longest < LEAST_TOKENS:
        raise SourceError(f"{folder} takes no texts of {LEAST_TOKENS} tokens, by config.json or {settings.name}")
    return longest


def _modules(path: Path) -> set[str]:
    """The kinds of layers in the ``modules.json`` of sentence-transformers, if there is one."""
    if not path.is_file():
        return set()
    try:
        return {str(each["type"]).rpartition(".")[2] for each in json.loads(path.read_text(encoding="utf-8"))}
    except (ValueError, TypeError, KeyError):
        raise SourceError(f"{path} is no list of layers with their types") from None


def _promise(added: AddedModel, *, width: int, **found: Any) -> Model:
    if added.dimensions and max(added.dimensions) > width:
        raise SourceError(f"{added.checkpoint} gives vectors of {width} numbers, fewer than one of its dimensions")
    return added.model(width=width, **found)


def promise_again(repository: Path, added: AddedModel) -> Model | None:
    """The model as the settings file has it now, of an export whose checkpoint may be gone; None without one.

    Raises ``SourceError`` for what the export cannot give.
    """
    found = described(repository / added.triton_model / "1")
    return found and _promise(added, width=found.width, max_tokens=found.max_tokens, languages=found.languages)


def is_prepared(repository: Path, added: AddedModel) -> bool:
    """Whether the model's folder has what ``prepare`` would write."""
    folder, like = repository / added.triton_model, _LIKE[added.operation]
    try:
        model = promise_again(repository, added)
    except SourceError:
        return False
    if model is None or model != described(folder / "1"):
        return False
    return all(_configured(repository, name, like, added, model) == _text(folder / name) for name in _CONFIGS)


def prepare(repository: Path, added: AddedModel, model: Model) -> None:
    """Make the model's folder: links to the code of the model it is like, configurations, and its description.

    A configuration that is there stays, because it may be the operator's, but for the width of the vectors.
    """
    like, folder = _LIKE[added.operation], repository / added.triton_model
    (folder / "1").mkdir(parents=True, exist_ok=True)
    (folder / "configs").mkdir(exist_ok=True)
    for link in (folder / "1").glob("*.py"):
        link.unlink()
    for path in sorted((repository / like / "1").glob("*.py")):
        (folder / "1" / path.name).symlink_to(os.path.join("..", "..", like, "1", path.name))
    for name in _CONFIGS:
        text = _configured(repository, name, like, added, model)
        (folder / name).unlink(missing_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    describe(folder / "1", model)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _configured(repository: Path, name: str, like: str, added: AddedModel, model: Model) -> str:
    """The configuration that is there, or else that of the model it is like, with what its entry says."""
    usual = _text(repository / like / name)
    text = _text(repository / added.triton_model / name) or usual
    text = text.replace(f'name: "{like}"', f'name: "{added.triton_model}"', 1)
    if model.width:
        text = re.sub(
            r'(name: "embedding" data_type: TYPE_FP32 dims: \[ -1, )\d+( \] \},?).*', rf"\g<1>{model.width}\2", text
        )
    if beams := added.beam_size or next(iter(_BEAMS.findall(usual)), 0):
        text = _BEAMS.sub(str(beams), text)
    return text
