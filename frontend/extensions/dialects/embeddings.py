"""Embeddings as TEI's clients ask for them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frontend.catalogue import parameters
from frontend.catalogue.models import EMBEDDINGS, Served
from frontend.errors import InvalidRequest
from frontend.http import fields
from frontend.operations.embeddings.protocol import MOST_INPUTS, EmbeddingRequest

_EMBED = ("inputs", "normalize", "dimensions", *fields.CUTTING)
_SIMILARITY = ("inputs", "parameters")
_COMPARED = ("source_sentence", "sentences")


def parse_embed(values: Mapping[str, Any], served: Served) -> EmbeddingRequest:
    """Parse the JSON of ``/embed``. ``normalize`` and ``dimensions`` are checked and ignored."""
    fields.refuse_unknown(values, _EMBED, parameters.ignored(EMBEDDINGS, served))
    fields.boolean(values, "normalize")
    fields.positive_integer(values, "dimensions")
    texts = fields.strings(values, "inputs", MOST_INPUTS, empty_allowed=False, or_one=True)
    return EmbeddingRequest(served.ids(EMBEDDINGS)[0], texts, truncate=fields.cuts(values))


def parse_similarity(values: Mapping[str, Any], served: Served) -> EmbeddingRequest:
    """Parse the JSON of ``/similarity``. The first text is compared with the others."""
    fields.refuse_unknown(values, _SIMILARITY, parameters.ignored(EMBEDDINGS, served))
    inputs, options = _object(values, "inputs"), _object(values, "parameters")
    fields.refuse_unknown(inputs, _COMPARED)
    fields.refuse_unknown(options, fields.CUTTING)
    source = fields.text(inputs, "source_sentence")
    if source is None:
        raise InvalidRequest("source_sentence must be a string that is not empty", param="source_sentence")
    texts = [source, *fields.strings(inputs, "sentences", MOST_INPUTS, empty_allowed=False)]
    return EmbeddingRequest(served.ids(EMBEDDINGS)[0], texts, truncate=fields.cuts(options))


def _object(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A JSON object; an empty one if absent."""
    value = values.get(name)
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise InvalidRequest(f"{name} must be an object", param=name)
    return value


def render_embed(vectors: NDArray[np.float32], tokens: int, request: EmbeddingRequest) -> list[Any]:
    """TEI's array of vectors."""
    return list(np.ascontiguousarray(vectors))


def render_similarity(vectors: NDArray[np.float32], tokens: int, request: EmbeddingRequest) -> list[float]:
    """The cosine of the first text with each of the others."""
    return [round(float(cosine), 6) for cosine in vectors[1:] @ vectors[0]]
