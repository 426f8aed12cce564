"""Models that an operator adds in the table ``[models]`` of the settings file: their checkpoints and their folders.

Only the standard library is needed, because preflight runs before anything is installed.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from frontend.catalogue.added_models import AddedModel, added_models, describe
from frontend.catalogue.models import EMBEDDINGS, RERANK, TRANSCRIPTIONS, Model
from scripts.export_models.checkpoints import SourceError

# The variable that names the frontend's settings file.
SETTINGS = "QUARTET_CONFIG"
# The model of the contract whose code and configurations an added one takes.
_LIKE = {EMBEDDINGS: "m3_embedder", RERANK: "m3_reranker", TRANSCRIPTIONS: "whisper_turbo"}
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
