"""Checks that a text checkpoint has the width and length that the catalogue promises. Needs no library."""

from pathlib import Path

from frontend.catalogue.models import MODELS
from scripts.export_models.checkpoints import SourceError, read_json

# XLM-RoBERTa does not use its first two positions.
_FIRST_POSITION = {"xlm-roberta": 2}

# By the names of the models in Triton.
PROMISES = {model.triton_model: model for model in MODELS.values() if model.max_tokens}


def stands_in(folder: Path) -> bool:
    """Whether the ``quartet.json`` of a small checkpoint says that it stands in for a real one.

    Its vectors are padded with zeros to the promised width, and its positions start over in longer texts.
    """
    path = folder / "quartet.json"
    return path.is_file() and read_json(path).get("stands_in") is True


def usable_positions(folder: Path) -> int:
    """The longest text, in tokens, that a checkpoint has positions for."""
    config = read_json(folder / "config.json")
    return int(config.get("max_position_embeddings", 0)) - _FIRST_POSITION.get(config.get("model_type", ""), 0)


def check_promise(model: str, folder: Path) -> None:
    """Raise ``SourceError`` for a checkpoint with another width or shorter texts than the catalogue promises."""
    promise, positions, small = PROMISES[model], usable_positions(folder), stands_in(folder)
    width = int(read_json(folder / "config.json").get("hidden_size", 0))
    if promise.width and not (width == promise.width or (small and width < promise.width)):
        raise SourceError(f"{folder} gives vectors of {width} numbers, and {model} promises {promise.width}")
    if positions < promise.max_tokens and not small:
        raise SourceError(f"{folder} has {positions} positions, and {model} takes texts of {promise.max_tokens} tokens")
