"""The models that an operator adds in the settings file, ``[models.NAME]``, and those of a model repository.

The export reads the table; it writes ``model.json`` into the model's folder, which the frontend reads.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from frontend.catalogue.exports import read_export
from frontend.catalogue.models import ADDED_PREFIX, EMBEDDINGS, MODELS, RERANK, TRANSCRIPTIONS, Added, Model
from frontend.catalogue.prices import to_micro
from frontend.catalogue.voices import exported_voices

DESCRIPTION = "model.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# ``owner/name@commit`` of a hub. A path begins with a slash or a dot.
_OF_HUB = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+@[0-9a-f]{40}")
_PRECISIONS = ("auto", "int8", "bf16", "fp32", "fp16")
_POOLINGS = ("", "cls", "mean")
_SCORES = ("sigmoid", "raw")
_OPERATIONS = (EMBEDDINGS, RERANK, TRANSCRIPTIONS)
# Of fewer tokens, the special ones of a pair leave none.
LEAST_TOKENS = 16
# The least and the most of numbers that are not any from 1 on. A search with beam N reads N + 1 of ten tokens.
_BOUNDS = {"max_tokens": (LEAST_TOKENS, None), "beam_size": (1, 9)}
# The keys that only models of one operation have.
_ONLY = {
    "query_prefix": (EMBEDDINGS,),
    "document_prefix": (EMBEDDINGS,),
    "pooling": (EMBEDDINGS,),
    "dimensions": (EMBEDDINGS,),
    "max_tokens": (EMBEDDINGS, RERANK),
    "scores": (RERANK,),
    "beam_size": (TRANSCRIPTIONS,),
}


@dataclass(frozen=True)
class AddedModel:
    """What the settings file says of a model.

    ``checkpoint`` is a folder laid out as on the hub, or ``owner/name@commit`` of the hub. Empty and 0 mean what the
    checkpoint says itself. ``price`` is in CHF per unit of the operation.
    """

    name: str
    operation: str
    checkpoint: str
    precision: str = "auto"
    price: str = "0"
    query_prefix: str = ""
    document_prefix: str = ""
    pooling: Literal["", "cls", "mean"] = ""
    dimensions: tuple[int, ...] = ()
    max_tokens: int = 0
    scores: Literal["sigmoid", "raw"] = "sigmoid"
    beam_size: int = 0

    @property
    def triton_model(self) -> str:
        return f"{ADDED_PREFIX}{self.name}"

    @property
    def is_of_hub(self) -> bool:
        return bool(_OF_HUB.fullmatch(self.checkpoint))

    def model(self, **found: Any) -> Model:
        """The model, with what was ``found`` in its checkpoint."""
        return Model(
            self.name,
            self.operation,
            to_micro(self.price),
            self.triton_model,
            query_prefix=self.query_prefix,
            document_prefix=self.document_prefix,
            dimensions=self.dimensions,
            raw_scores=self.scores == "raw",
            **found,
        )


_KEYS = {item.name: item.type for item in fields(AddedModel) if item.name != "name"}


def added_models(table: Mapping[str, Any]) -> tuple[AddedModel, ...]:
    """The models of the table ``[models]``; raises ``ValueError`` with a sentence for the first that cannot be."""
    found: dict[str, AddedModel] = {}
    for name, given in table.items():
        if name.lower() in (other.lower() for other in (*MODELS, *found, "all")):
            raise ValueError(f"{name}: there is a model {name.lower()} already")
        found[name] = _added_model(name, given)
    return tuple(found.values())


def _added_model(name: str, given: Any) -> AddedModel:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name}: a model's name has 1 to 64 letters, digits, dots, - and _, and begins with a letter or digit"
        )
    if not isinstance(given, dict):
        raise ValueError(f'{name}: must be a table, such as operation = "embeddings" and checkpoint = "/models/e5"')
    for key, value in given.items():
        if key not in _KEYS:
            raise ValueError(f"{name}: there is no {key!r}; there are {', '.join(_KEYS)}")
        least, most = _BOUNDS.get(key, (1, None))
        if _KEYS[key] is int and not _is_size(value, least, most):
            to = f" to {most}" if most else ""
            raise ValueError(f"{name}: {key} must be a whole number from {least}{to}, not {value!r}")
        if key == "dimensions" and not (isinstance(value, list) and value and all(map(_is_size, value))):
            raise ValueError(f"{name}: dimensions must be a list of whole numbers from 1, not {value!r}")
        if _KEYS[key] is not int and key not in ("price", "dimensions") and not isinstance(value, str):
            raise ValueError(f"{name}: {key} must be a text, not {value!r}")
    if missing := {"operation", "checkpoint"} - given.keys():
        raise ValueError(f"{name}: {min(missing)} is missing")
    texts = {"price": str(given.get("price", "0")), "dimensions": tuple(given.get("dimensions", ()))}
    _check(name, added := AddedModel(name, **{**given, **texts}), given)
    return added


def _is_size(value: object, least: int = 1, most: int | None = None) -> bool:
    # A bool is an int.
    return type(value) is int and least <= value <= (most or value)


def _check(name: str, added: AddedModel, given: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for a value that its key cannot have."""
    choices = {"operation": _OPERATIONS, "precision": _PRECISIONS, "pooling": _POOLINGS, "scores": _SCORES}
    for key, allowed in choices.items():
        if (value := getattr(added, key)) not in allowed:
            voices = "; voices stand in [voices]" if value == "speech" else ""
            raise ValueError(f"{name}: {key} must be one of {', '.join(filter(None, allowed))}, not {value!r}{voices}")
    for key, operations in _ONLY.items():
        if key in given and added.operation not in operations:
            raise ValueError(f"{name}: {key} is for {' and '.join(operations)}")
    if not added.is_of_hub and not added.checkpoint.startswith(("/", "./", "../")):
        raise ValueError(
            f"{name}: checkpoint must be a path that begins with / or ., or owner/name@commit with the 40 digits of a "
            f"commit, not {added.checkpoint!r}"
        )
    try:
        to_micro(added.price)
    except ValueError as error:
        raise ValueError(f"{name}: price: {error}") from None


def describe(folder: Path, model: Model) -> None:
    """Write ``model.json`` for the frontend into the folder of a Triton model's version."""
    (folder / DESCRIPTION).write_text(json.dumps(asdict(model), indent=1) + "\n", encoding="utf-8")


def described(folder: Path) -> Model | None:
    """The model of ``model.json`` in a folder; None for an unfinished export, or one of another version."""
    try:
        values = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        lists = {name: tuple(values.get(name, ())) for name in ("dimensions", "languages")}
        return Model(**values | lists)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def added_in(repository: Path) -> Added:
    """The voices and models of a model repository that the catalogue does not describe."""
    return Added(exported_voices(repository), tuple(_exported_models(repository)))


def _exported_models(repository: Path) -> list[Model]:
    paths = sorted(repository.glob(f"{ADDED_PREFIX}*/1/{DESCRIPTION}"))
    found = [described(path.parent) for path in paths if not read_export(repository, path.parents[1].name).failed]
    return [model for model in found if model is not None]
