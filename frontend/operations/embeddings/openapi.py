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

_TEXT = {"type": "string", "minLength": 1}
_EMBEDDING_TYPE = one_of(protocol.FORMATS, description="As `encoding_format`, which goes first.")
_EXAMPLE = {"input": ["The lake is cold in April.", "Im April ist der See kalt."]}


def _body(served: Served) -> Schema:
    models = served.by_id(EMBEDDINGS).values()
    tokens, width = max(model.max_tokens for model in models), max(model.width for model in models)
    return request_object(
        {
            # No type and no alternatives: generated Java does not compile with them.
            "input": {
                "description": f"One text or a list; each is cut after {tokens} tokens.",
                "minLength": 1,
                "minItems": 1,
                "maxItems": protocol.MOST_INPUTS,
                "items": _TEXT,
                "not": {"type": ["boolean", "null", "number", "object"]},
            },
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
    body, answer = json_content(_body(served), _EXAMPLE), json_content(reference("EmbeddingList"))
    return OpenApiFragment({"/v1/embeddings": post("createEmbedding", "Embeddings", body, answer)}, _schemas(models))
