"""What callers are told of the text models, and that a checkpoint keeps it. Needs no library."""

from pathlib import Path

from frontend.catalogue.models import MODELS
from scripts.export_models.checkpoints import SourceError, read_json

# Where XLM-RoBERTa counts its positions from.
_FIRST_POSITION = {"xlm-roberta": 2}


PROMISES = {model.triton_model: model for model in MODELS.values() if model.max_tokens}


def stands_in(folder: Path) -> bool:
    """Whether a small checkpoint says, in a ``quartet.json`` of its own, that it is in the place of a real one.

    Its vectors are padded with zeros to what is promised, and the positions of texts over its own start over.
    """
    path = folder / "quartet.json"
    return path.is_file() and read_json(path).get("stands_in") is True


def usable_positions(folder: Path) -> int:
    """How many tokens a checkpoint has positions for, by its ``config.json``."""
    config = read_json(folder / "config.json")
    return int(config.get("max_position_embeddings", 0)) - _FIRST_POSITION.get(config.get("model_type", ""), 0)


def check_promise(model: str, folder: Path) -> None:
    """Refuse a checkpoint whose vectors are of another width, or whose texts are shorter, than callers are told."""
    promise, positions, small = PROMISES[model], usable_positions(folder), stands_in(folder)
    width = int(read_json(folder / "config.json").get("hidden_size", 0))
    if promise.width and not (width == promise.width or (small and width < promise.width)):
        raise SourceError(f"{folder} gives vectors of {width} numbers, and {model} promises {promise.width}")
    if positions < promise.max_tokens and not small:
        raise SourceError(f"{folder} has {positions} positions, and {model} takes texts of {promise.max_tokens} tokens")
