"""The OpenAPI description of embeddings."""

from collections.abc import Collection

from frontend.catalogue import parameters
from frontend.catalogue.extensions import CLIENT_PARAMETERS
from frontend.catalogue.models import EMBEDDINGS, Model, Served
from frontend.http.schemas import (
    OpenApiFragment,
    Schema,
    answer_object,
    ignored,
    json_content,
    one_of,
    post,
    reference,
    request_object,
)
from frontend.operations.embeddings import protocol

TEXT = {"type": "string", "minLength": 1}
LIST = {"minItems": 1, "maxItems": protocol.MOST_INPUTS, "items": TEXT}
_EMBEDDING_TYPE = one_of(protocol.FORMATS, description="As `encoding_format`, which goes first.")
EXAMPLE = {"input": ["The lake is cold in April.", "Im April ist der See kalt."]}


def texts_of(served: Served) -> Schema:
    """One text or a list, without a type and alternatives: generated Java does not compile with them."""
    tokens = max(model.max_tokens for model in served.by_id(EMBEDDINGS).values())
    return {
        "description": f"One text or a list; each is cut after {tokens} tokens.",
        "minLength": 1,
        **LIST,
        "not": {"type": ["boolean", "null", "number", "object"]},
    }


def _body(served: Served) -> Schema:
    width = max(model.width for model in served.by_id(EMBEDDINGS).values())
    return request_object(
        {
            "input": texts_of(served),
            "model": one_of(served.model_names(EMBEDDINGS)),
            "encoding_format": one_of(protocol.FORMATS, default=protocol.FORMATS[0]),
            "dimensions": {
                "type": "integer",
                "minimum": 1,
                "description": f"Checked, then ignored: the dimension is {width}.",
            },
            **({"embedding_type": _EMBEDDING_TYPE} if CLIENT_PARAMETERS in served.extensions else {}),
            **ignored(parameters.ignored(EMBEDDINGS, served)),
        },
        "input",
    )


def _schemas(models: Collection[Model]) -> Schema:
    widths = [model.width for model in models]
    return {
        "EmbeddingList": answer_object(
            {
                "object": one_of(["list"]),
                "data": {"type": "array", "items": reference("Embedding")},
                "model": one_of(model.id for model in models),
                "usage": answer_object({"prompt_tokens": {"type": "integer"}, "total_tokens": {"type": "integer"}}),
            }
        ),
        "Embedding": answer_object(
            {
                "object": one_of(["embedding"]),
                "index": {"type": "integer", "minimum": 0},
                # No type, since base64 is a string: of alternatives, generated clients make wrappers.
                "embedding": {
                    "description": f"A vector of {max(widths)} numbers and length 1; with base64 as float32 bytes, "
                    "little-endian.",
                    "minItems": min(widths),
                    "maxItems": max(widths),
                    "items": {"type": "number"},
                },
            }
        ),
    }


def describe(served: Served) -> OpenApiFragment:
    models = served.by_id(EMBEDDINGS).values()
    body, answer = json_content(_body(served), EXAMPLE), json_content(reference("EmbeddingList"))
    return OpenApiFragment({"/v1/embeddings": post("createEmbedding", "Embeddings", body, answer)}, _schemas(models))
