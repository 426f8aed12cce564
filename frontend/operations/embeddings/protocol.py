"""Embedding requests and answers."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from frontend.catalogue.extensions import CLIENT_PARAMETERS, SPARSE_EMBEDDINGS, TOKEN_ARRAYS
from frontend.catalogue.models import EMBEDDINGS, Served
from frontend.errors import InvalidRequest
from frontend.http.schemas import needs, optional_with
from frontend.parameters.embeddings import DENSE, FORMATS, MOST_INPUTS, PARAMETERS, QUERIES

_TOKENS = (
    "input must be a string or an array of strings, not tokens; in LangChain, set check_embedding_ctx_length=False, "
    "in LibreChat's RAG API RAG_CHECK_EMBEDDING_CTX_LENGTH=False"
)


@dataclass(frozen=True)
class EmbeddingRequest:
    """Texts to embed, none empty. ``truncate`` is whether long ones are cut, or refused.

    Some models learned queries and documents with different prefixes; ``is_query`` is whether these are queries.
    ``dimensions`` are the numbers of a vector that are wanted, 0 for all. ``outputs`` are what each text is to have.
    """

    model: str
    texts: list[str]
    encoding_format: str = FORMATS[0]
    truncate: bool = True
    is_query: bool = False
    dimensions: int = 0
    outputs: tuple[str, ...] = (DENSE,)


def _vector(served: Served) -> dict[str, Any]:
    models = served.by_id(EMBEDDINGS).values()
    widths = [width for model in models for width in (model.width, *model.dimensions)]
    usual = " or ".join(str(width) for width in sorted({model.width for model in models}, reverse=True))
    return {
        "description": f"A vector of {usual} numbers and length 1; with base64 as float32 bytes, little-endian.",
        "minItems": min(widths),
        "maxItems": max(widths),
        "items": {"type": "number"},
    }


class SparseVector(TypedDict):
    """The weights of a text's tokens, without those of 0 and of special tokens."""

    indices: Annotated[list[int], {"description": "Ids of tokens, each once, ascending."}]
    values: Annotated[list[float], {"description": "The largest weight of each token in the text."}]


class Embedding(TypedDict):
    object: Literal["embedding"]
    index: Annotated[int, {"minimum": 0}]
    # No type, since base64 is a string: of alternatives, generated clients make wrappers.
    embedding: Annotated[Any, optional_with(SPARSE_EMBEDDINGS), _vector]
    sparse: NotRequired[Annotated[SparseVector, needs(SPARSE_EMBEDDINGS)]]


class _Usage(TypedDict):
    prompt_tokens: int
    total_tokens: int


class EmbeddingList(TypedDict):
    """The answer."""

    object: Literal["list"]
    data: list[Embedding]
    model: Annotated[str, lambda served: {"enum": list(served.by_id(EMBEDDINGS))}]
    usage: _Usage


def parse_openai(values: Mapping[str, Any], served: Served) -> EmbeddingRequest:
    """Parse the developer endpoint's JSON."""
    if CLIENT_PARAMETERS in served.extensions and TOKEN_ARRAYS not in served.extensions:
        _refuse_tokens(values.get("input"))
    given = PARAMETERS.read(values, served)
    is_first = bool(values.get("encoding_format"))
    outputs = given.get("outputs") or (DENSE,)
    if outputs != (DENSE,) and len(given["input"]) > MOST_INPUTS:
        raise InvalidRequest(f"outputs are for at most {MOST_INPUTS} inputs", param="input")
    return EmbeddingRequest(
        model=given["model"],
        texts=given["input"],
        encoding_format=given["encoding_format"] if is_first else given.get("embedding_type") or FORMATS[0],
        is_query=given.get("input_type") in QUERIES,
        dimensions=_dimensions(given, served),
        outputs=outputs,
    )


def _dimensions(given: Mapping[str, Any], served: Served) -> int:
    """The wanted size of vectors, for a model that was trained to give shorter ones; others ignore it."""
    if (wanted := given["dimensions"]) is None:
        return 0
    model = served.by_id(EMBEDDINGS)[given["model"]]
    if not model.dimensions:
        return 0
    if wanted not in (sizes := sorted({*model.dimensions, model.width})):
        raise InvalidRequest(f"dimensions must be one of {', '.join(map(str, sizes))}", param="dimensions")
    return int(wanted)


def _refuse_tokens(value: Any) -> None:
    """Raise 400 for tokens instead of texts, with the switches of the clients that send them."""
    first = value[0] if isinstance(value, list) and value else None
    if isinstance(first, list | int):
        raise InvalidRequest(_TOKENS, param="input")


def render_openai(
    vectors: NDArray[np.float32], tokens: int, request: EmbeddingRequest, first: int = 0
) -> EmbeddingList:
    """OpenAI's list, from the index ``first`` on; base64 holds the vector's little-endian float32 bytes."""
    rows: list[Any] = list(np.ascontiguousarray(vectors, "<f4"))
    if request.encoding_format == "base64":
        rows = [base64.b64encode(row.tobytes()).decode("ascii") for row in rows]
    return {
        "object": "list",
        "data": [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows, first)],
        "model": request.model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
