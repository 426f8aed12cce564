"""Embedding requests and answers, and how the developer endpoint writes them."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frontend import fields
from frontend.errors import InvalidRequest

MODEL = "embed-m3"
MOST_INPUTS = 32
_PARAMETERS = ("input", "model", "encoding_format", "dimensions")


@dataclass(frozen=True)
class EmbeddingRequest:
    """Texts to embed, none empty."""

    texts: list[str]
    encoding_format: str


@dataclass(frozen=True)
class Embeddings:
    """``vectors`` float32 [texts, 1024], L2-normalised, and the tokens they cost."""

    vectors: NDArray[np.float32]
    tokens: int


def _parse_input(value: Any) -> list[str]:
    if isinstance(value, str):
        value = [value]
    if value is None:
        raise InvalidRequest("missing parameter: input", param="input")
    if not isinstance(value, list):
        raise InvalidRequest("input must be a string or an array of strings", param="input")
    if not value:
        raise InvalidRequest("input must not be an empty array", param="input")
    if len(value) > MOST_INPUTS:
        raise InvalidRequest(f"too many inputs: {len(value)}, at most {MOST_INPUTS}", param="input")
    for index, text in enumerate(value):
        if not isinstance(text, str):
            raise InvalidRequest(f"input[{index}] must be a string", param="input")
        if not text:
            raise InvalidRequest(f"input[{index}] is empty", param="input")
        fields.checked_text(text, "input", f"input[{index}]")
    return value


def parse_openai(values: Mapping[str, Any]) -> EmbeddingRequest:
    """The developer endpoint's JSON."""
    fields.refuse_unknown(values, _PARAMETERS)
    fields.model(values, (MODEL,), MODEL)
    fields.positive_integer(values, "dimensions")
    return EmbeddingRequest(
        texts=_parse_input(values.get("input")),
        encoding_format=fields.choice(values, "encoding_format", ("float", "base64"), "float"),
    )


def render_openai(answer: Embeddings, encoding_format: str) -> dict[str, Any]:
    """OpenAI's list; base64 holds the vector's little-endian float32 bytes."""
    rows: list[Any] = list(np.ascontiguousarray(answer.vectors, "<f4"))
    if encoding_format == "base64":
        rows = [base64.b64encode(row.tobytes()).decode("ascii") for row in rows]
    return {
        "object": "list",
        "data": [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)],
        "model": MODEL,
        "usage": {"prompt_tokens": answer.tokens, "total_tokens": answer.tokens},
    }
