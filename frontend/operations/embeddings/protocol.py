"""Embedding requests and answers."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frontend.catalogue import parameters
from frontend.catalogue.extensions import CLIENT_PARAMETERS
from frontend.catalogue.models import EMBEDDINGS, Served
from frontend.errors import InvalidRequest
from frontend.http import fields

MOST_INPUTS = 32
FORMATS = ("float", "base64")
_TOKENS = (
    "input must be a string or an array of strings, not tokens; in LangChain, set check_embedding_ctx_length=False, "
    "in LibreChat's RAG API RAG_CHECK_EMBEDDING_CTX_LENGTH=False"
)


@dataclass(frozen=True)
class EmbeddingRequest:
    """Texts to embed, none empty. ``truncate`` is whether long ones are cut, or refused."""

    model: str
    texts: list[str]
    encoding_format: str = FORMATS[0]
    truncate: bool = True


def parse_openai(values: Mapping[str, Any], served: Served) -> EmbeddingRequest:
    """Parse the developer endpoint's JSON."""
    fields.refuse_unknown(values, parameters.meant(EMBEDDINGS, served), parameters.ignored(EMBEDDINGS, served))
    fields.positive_integer(values, "dimensions")
    usual = FORMATS[0]
    if CLIENT_PARAMETERS in served.extensions:
        _refuse_tokens(values.get("input"))
        usual = fields.choice(values, "embedding_type", FORMATS, usual)
    return EmbeddingRequest(
        model=fields.model(values, served.model_names(EMBEDDINGS)),
        texts=fields.strings(values, "input", MOST_INPUTS, empty_allowed=False, or_one=True),
        encoding_format=fields.choice(values, "encoding_format", FORMATS, usual),
    )


def _refuse_tokens(value: Any) -> None:
    """Raise 400 for tokens instead of texts, with the switches of the clients that send them."""
    first = value[0] if isinstance(value, list) and value else None
    if isinstance(first, list | int):
        raise InvalidRequest(_TOKENS, param="input")


def render_openai(vectors: NDArray[np.float32], tokens: int, request: EmbeddingRequest) -> dict[str, Any]:
    """OpenAI's list; base64 holds the vector's little-endian float32 bytes."""
    rows: list[Any] = list(np.ascontiguousarray(vectors, "<f4"))
    if request.encoding_format == "base64":
        rows = [base64.b64encode(row.tobytes()).decode("ascii") for row in rows]
    return {
        "object": "list",
        "data": [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)],
        "model": request.model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
