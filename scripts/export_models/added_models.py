"""Models that an operator adds in the table ``[models]`` of the settings file: their checkpoints and their folders.

Only the standard library is needed, because preflight runs before anything is installed.
"""

import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from frontend.catalogue.added_models import AddedModel, added_models, describe
from frontend.catalogue.models import EMBEDDINGS, RERANK, TRANSCRIPTIONS, Model
from scripts.export_models.checkpoints import Checkpoint, Kind, SourceError, hidden_width, read_json, usable_positions

# The variable that names the frontend's settings file.
SETTINGS = "QUARTET_CONFIG"
# The model of the contract whose code and configurations an added one takes.
_LIKE = {EMBEDDINGS: "m3_embedder", RERANK: "m3_reranker", TRANSCRIPTIONS: "whisper_turbo"}
# What follows the encoder in models of sentence-transformers. Vectors of all have length 1.
_MODULES = {"Transformer", "Pooling", "Normalize"}
_CONFIGS = ("config.pbtxt", "configs/gpu.pbtxt")


def table_of(name: str, environ: Mapping[str, str]) -> Any:
    """The table of the settings file, empty without one; raises ``SourceError`` for a file that cannot be read."""
    if not (path := environ.get(SETTINGS)):
        return {}
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8-sig")).get(name, {})
    except (OSError, ValueError) as error:
        raise SourceError(f"{SETTINGS}: {path}: {error}") from None
    return table if isinstance(table, dict) else {}


def added_of(environ: Mapping[str, str]) -> tuple[AddedModel, ...]:
    """The added models of the settings file; raises ``SourceError`` for one that cannot be."""
    try:
        return added_models(table_of("models", environ))
    except ValueError as error:
        raise SourceError(f"{SETTINGS}: {environ.get(SETTINGS)}: models: {error}") from None


def checkpoint_of(added: AddedModel, environ: Mapping[str, str]) -> Checkpoint:
    """The checkpoint of an added model: a commit of the hub, or a folder, which is relative to the settings file."""
    kind: Kind = "whisper" if added.operation == TRANSCRIPTIONS else "text"
    name, _, commit = added.checkpoint.partition("@") if added.is_of_hub else (added.checkpoint, "", "")
    if not commit:
        name = os.path.normpath(Path(environ.get(SETTINGS, "")).absolute().parent / name)
    return Checkpoint(name, commit, "", 0, (), kind, own=True)


def promise_of(added: AddedModel, folder: Path) -> Model:
    """The model, with the width and the longest text of the checkpoint in ``folder``.

    Raises ``SourceError`` for a checkpoint whose vectors the export would not compute as sentence-transformers does.
    """
    if added.operation == TRANSCRIPTIONS:
        return added.model()
    settings = folder / "sentence_bert_config.json"
    longest = usable_positions(folder)
    if settings.is_file():
        longest = min(longest, int(read_json(settings).get("max_seq_length") or longest))
    if added.max_tokens > usable_positions(folder):
        raise SourceError(f"{folder} has {usable_positions(folder)} positions, fewer than max_tokens says")
    if added.operation == EMBEDDINGS and (modules := folder / "modules.json").is_file():
        kinds = {str(each["type"]).rpartition(".")[2] for each in json.loads(modules.read_text(encoding="utf-8"))}
        if unknown := kinds - _MODULES:
            raise SourceError(f"{modules} has a layer that is not exported: {', '.join(sorted(unknown))}")
    width = hidden_width(folder) if added.operation == EMBEDDINGS else 0
    if added.dimensions and max(added.dimensions) > width:
        raise SourceError(f"{folder} gives vectors of {width} numbers, fewer than one of its dimensions")
    return added.model(max_tokens=added.max_tokens or longest, width=width)


def prepare(repository: Path, added: AddedModel, model: Model) -> None:
    """Make the model's folder: links to the code of the model it is like, configurations, and its description.

    A configuration that is there stays, because it may be the operator's, but for the width of the vectors.
    """
    like, folder = _LIKE[added.operation], repository / added.triton_model
    (folder / "1").mkdir(parents=True, exist_ok=True)
    (folder / "configs").mkdir(exist_ok=True)
    for path in sorted((repository / like / "1").glob("*.py")):
        link = folder / "1" / path.name
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.join("..", "..", like, "1", path.name))
    for name in _CONFIGS:
        target = folder / name
        text = (target if target.is_file() else repository / like / name).read_text(encoding="utf-8")
        target.unlink(missing_ok=True)
        target.write_text(_config(text, like, added, model), encoding="utf-8")
    describe(folder / "1", model)


def _config(text: str, like: str, added: AddedModel, model: Model) -> str:
    text = text.replace(f'name: "{like}"', f'name: "{added.triton_model}"', 1)
    if model.width:
        text = re.sub(
            r'(name: "embedding" data_type: TYPE_FP32 dims: \[ -1, )\d+( \] \}).*', rf"\g<1>{model.width}\2", text
        )
    if added.beam_size:
        text = re.sub(r'(key: "beam_size" value \{ string_value: ")\d+', rf"\g<1>{added.beam_size}", text)
    return text
