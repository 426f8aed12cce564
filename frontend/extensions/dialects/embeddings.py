"""Embeddings as TEI's clients ask for them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frontend.catalogue.models import EMBEDDINGS, Served
from frontend.extensions.dialects.parameters import EMBED, SIMILARITY
from frontend.operations.embeddings.protocol import EmbeddingRequest


def parse_embed(values: Mapping[str, Any], served: Served) -> EmbeddingRequest:
    """Parse the JSON of ``/embed``. ``normalize`` and ``dimensions`` are checked and ignored."""
    given = EMBED.read(values, served)
    return _request(given["inputs"], given, served)


def parse_similarity(values: Mapping[str, Any], served: Served) -> EmbeddingRequest:
    """Parse the JSON of ``/similarity``. The first text is compared with the others."""
    given = SIMILARITY.read(values, served)
    inputs = given["inputs"]
    return _request([inputs["source_sentence"], *inputs["sentences"]], given["parameters"], served)


def _request(texts: list[str], options: Mapping[str, Any], served: Served) -> EmbeddingRequest:
    return EmbeddingRequest(served.ids(EMBEDDINGS)[0], texts, truncate=options["truncate"] is not False)


def render_embed(vectors: NDArray[np.float32], tokens: int, request: EmbeddingRequest, first: int = 0) -> list[Any]:
    """TEI's array of vectors."""
    return list(np.ascontiguousarray(vectors))


def render_similarity(
    vectors: NDArray[np.float32], tokens: int, request: EmbeddingRequest, first: int = 0
) -> list[float]:
    """The cosine of the first text with each of the others."""
    return [round(float(cosine), 6) for cosine in vectors[1:] @ vectors[0]]
