"""What the OpenAPI document says of embeddings."""

from collections.abc import Collection

from frontend.catalogue.models import EMBEDDINGS, Model, Served
from frontend.http.schemas import Part, Schema, answer_object, ignored, json_content, post, reference, request_object
from frontend.operations.embeddings import protocol

_TEXT = {"type": "string", "minLength": 1}


def _body(served: Served) -> Schema:
    models = served.by_id(EMBEDDINGS).values()
    tokens, width = max(model.max_tokens for model in models), max(model.width for model in models)
    return request_object(
        {
            "input": {
                "description": f"One text or a list; what is over {tokens} tokens is cut off.",
                "oneOf": [_TEXT, {"type": "array", "minItems": 1, "maxItems": protocol.MOST_INPUTS, "items": _TEXT}],
            },
            "model": {"enum": [*served.model_names(EMBEDDINGS), "", None]},
            "encoding_format": {"enum": ["float", "base64", "", None], "default": "float"},
            "dimensions": {
                "anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["", None]}],
                "description": f"Checked, then ignored: the dimension is {width}.",
            },
            **ignored(served.aliases.ignore),
        },
        "input",
    )


def _schemas(models: Collection[Model]) -> Schema:
    widths = [model.width for model in models]
    numbers = {"type": "array", "minItems": min(widths), "maxItems": max(widths), "items": {"type": "number"}}
    return {
        "EmbeddingList": answer_object(
            {
                "object": {"const": "list"},
                "data": {"type": "array", "items": reference("Embedding")},
                "model": {"enum": [model.id for model in models]},
                "usage": answer_object({"prompt_tokens": {"type": "integer"}, "total_tokens": {"type": "integer"}}),
            }
        ),
        "Embedding": answer_object(
            {
                "object": {"const": "embedding"},
                "index": {"type": "integer", "minimum": 0},
                "embedding": {
                    "description": f"{max(widths)} numbers of length 1; with base64 their float32 bytes, "
                    "little-endian.",
                    "oneOf": [numbers, {"type": "string", "contentEncoding": "base64"}],
                },
            }
        ),
    }


def describe(served: Served) -> Part:
    models = served.by_id(EMBEDDINGS).values()
    answer = json_content(reference("EmbeddingList"))
    return Part({"/v1/embeddings": post("Embeddings", json_content(_body(served)), answer)}, _schemas(models))
