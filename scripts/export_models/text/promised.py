"""What callers are told of the text models, and that a checkpoint keeps it. Needs no library."""

from dataclasses import dataclass
from pathlib import Path

from frontend.catalogue.models import MODELS
from scripts.export_models.checkpoints import SourceError, read_json

# Where XLM-RoBERTa counts its positions from.
_FIRST_POSITION = {"xlm-roberta": 2}


PROMISES = {model.triton_model: model for model in MODELS.values() if model.max_tokens}


@dataclass(frozen=True)
class StandIn:
    """What a small checkpoint in the place of a real one says of itself, in a ``quartet.json`` of its own.

    Its vectors are ``padded_to`` so many numbers with zeros; texts of up to ``stretched_to`` tokens are taken, whose
    positions start over; 0 is not at all.
    """

    padded_to: int = 0
    stretched_to: int = 0

    @classmethod
    def of(cls, folder: Path) -> "StandIn":
        path = folder / "quartet.json"
        given = read_json(path) if path.is_file() else {}
        return cls(int(given.get("padded_to", 0)), int(given.get("stretched_to", 0)))


def usable_positions(folder: Path) -> int:
    """How many tokens a checkpoint has positions for, by its ``config.json``."""
    config = read_json(folder / "config.json")
    return int(config.get("max_position_embeddings", 0)) - _FIRST_POSITION.get(config.get("model_type", ""), 0)


def check_promise(model: str, folder: Path) -> None:
    """Refuse a checkpoint whose vectors are of another width, or whose texts are shorter, than callers are told."""
    promise, its, positions = PROMISES[model], StandIn.of(folder), usable_positions(folder)
    width = int(read_json(folder / "config.json").get("hidden_size", 0))
    if promise.width and width != promise.width and not width < its.padded_to == promise.width:
        raise SourceError(f"{folder} gives vectors of {width} numbers, and {model} promises {promise.width}")
    if max(positions, its.stretched_to) < promise.max_tokens:
        raise SourceError(f"{folder} has {positions} positions, and {model} takes texts of {promise.max_tokens} tokens")
