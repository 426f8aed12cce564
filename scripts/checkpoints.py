"""Whether a folder holds the checkpoints that an export reads, told from names and configurations alone."""

import json
from pathlib import Path

from scripts.export_models import sources
from scripts.local_triton.checks import PreflightError

_TEXT = ("config.json", "tokenizer.json")
_WHISPER = (*_TEXT, "preprocessor_config.json")
_WEIGHTS = ("model.safetensors", "pytorch_model.bin", "model.safetensors.index.json", "pytorch_model.bin.index.json")
# What a configuration must say of itself, so that a wrong or empty one is found before hours of work.
_WHISPER_TYPES, _TEXT_TYPES = ("whisper",), ("xlm-roberta", "bert")


def check(folder: Path) -> None:
    """``PreflightError`` names the first file that is missing, empty or of another model."""
    if not folder.is_dir():
        raise PreflightError(f"FOLDER={folder}: there is no such folder")
    for checkpoint in (sources.WHISPER_TURBO, sources.WHISPER_LARGE):
        _check_model(folder / checkpoint.repository, _WHISPER, _WHISPER_TYPES)
    for checkpoint in (sources.EMBEDDER, sources.RERANKER):
        _check_model(folder / checkpoint.repository, _TEXT, _TEXT_TYPES)
    for file in sources.VOICES.files:
        _check_file(folder / sources.VOICES.repository / file)


def _check_model(folder: Path, names: tuple[str, ...], types: tuple[str, ...]) -> None:
    for name in names:
        _check_file(folder / name)
    weights = [folder / name for name in _WEIGHTS if (folder / name).is_file()]
    if not weights:
        raise PreflightError(f"{folder} has no weights: {' or '.join(_WEIGHTS[:2])}")
    for path in weights:
        _check_not_empty(path)
    config = folder / "config.json"
    found = _object(config).get("model_type")
    if found not in types:
        raise PreflightError(f"{config}: its model_type is {found!r}, and must be {' or '.join(types)}")


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise PreflightError(f"{path} is missing; a folder of checkpoints is laid out as on the hub")
    _check_not_empty(path)
    if path.suffix == ".json":
        _object(path)


def _check_not_empty(path: Path) -> None:
    if path.stat().st_size == 0:
        raise PreflightError(f"{path} is empty")


def _object(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise PreflightError(f"{path} is not valid JSON") from None
    if not isinstance(content, dict) or not content:
        raise PreflightError(f"{path} says nothing")
    return content
