"""What the OpenAPI document says of embeddings."""

from typing import Any

from frontend.fields import NULL
from frontend.operations.embeddings import protocol

_BODY = {
    "type": "object",
    "additionalProperties": NULL,
    "required": ["input"],
    "properties": {
        "input": {
            "description": "One text or a list; what is over 8192 tokens is cut off.",
            "oneOf": [
                {"type": "string", "minLength": 1},
                {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": protocol.MOST_INPUTS,
                    "items": {"type": "string", "minLength": 1},
                },
            ],
        },
        "model": {"enum": [protocol.MODEL, "", None]},
        "encoding_format": {"enum": ["float", "base64", "", None], "default": "float"},
        "dimensions": {
            "anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["", None]}],
            "description": "Checked, then ignored: the dimension is 1024.",
        },
    },
}

SCHEMAS: dict[str, Any] = {
    "EmbeddingList": {
        "type": "object",
        "additionalProperties": False,
        "required": ["object", "data", "model", "usage"],
        "properties": {
            "object": {"const": "list"},
            "data": {"type": "array", "items": {"$ref": "#/components/schemas/Embedding"}},
            "model": {"const": protocol.MODEL},
            "usage": {
                "type": "object",
                "additionalProperties": False,
                "required": ["prompt_tokens", "total_tokens"],
                "properties": {"prompt_tokens": {"type": "integer"}, "total_tokens": {"type": "integer"}},
            },
        },
    },
    "Embedding": {
        "type": "object",
        "additionalProperties": False,
        "required": ["object", "index", "embedding"],
        "properties": {
            "object": {"const": "embedding"},
            "index": {"type": "integer", "minimum": 0},
            "embedding": {
                "description": "1024 numbers of length 1; with base64 their float32 bytes, little-endian.",
                "oneOf": [
                    {"type": "array", "minItems": 1024, "maxItems": 1024, "items": {"type": "number"}},
                    {"type": "string", "contentEncoding": "base64"},
                ],
            },
        },
    },
}

PATHS: dict[str, Any] = {
    "/v1/embeddings": {
        "post": {
            "summary": "Embeddings",
            "requestBody": {"required": True, "content": {"application/json": {"schema": _BODY}}},
            "responses": {
                "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/EmbeddingList"}}}}
            },
        }
    }
}
