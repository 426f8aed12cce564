"""Weights of tokens to sparse vectors, as FlagEmbedding makes them, and to JSON."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from frontend.http.rendering import render_json
from frontend.operations.embeddings.protocol import EmbeddingRequest, render_openai
from frontend.operations.packed_model import Weights
from frontend.parameters.embeddings import DENSE
from frontend.text.tokens import Ids


def sparse_vector(ids: Ids, weights: Weights, unweighted: Collection[int]) -> tuple[Ids, Weights]:
    """The token ids of a text, each once and ascending, and the largest weight of each in the text.

    Tokens without a weight, and those that are ``unweighted``, are left out.
    """
    kept = (weights > 0) & ~np.isin(ids, list(unweighted))
    order = np.lexsort((weights[kept], ids[kept]))
    indices, values = ids[kept][order], weights[kept][order]
    is_last = np.append(indices[1:] != indices[:-1], True)[: len(indices)]
    return indices[is_last], values[is_last]


def write(
    request: EmbeddingRequest,
    vectors: NDArray[np.float32],
    ids: Sequence[Ids],
    weights: Sequence[Weights],
    unweighted: Collection[int],
) -> bytes:
    """The answer. Each text's weights become JSON on their own, so that no call holds other threads for long."""
    answer: dict[str, Any] = {**render_openai(vectors, sum(map(len, ids)), request)}
    for item, of_text, weight in zip(answer["data"], ids, weights, strict=True):
        indices, values = sparse_vector(of_text, weight, unweighted)
        item["sparse"] = orjson.Fragment(render_json({"indices": indices, "values": values}))
        if DENSE not in request.outputs:
            del item["embedding"]
    return render_json(answer)
