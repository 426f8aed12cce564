"""What the OpenAPI document says of embeddings."""

from frontend.http.schemas import Schema, answer_object, json_content, post, reference, request_object
from frontend.operations.embeddings import protocol

_TEXT = {"type": "string", "minLength": 1}
_BODY = request_object(
    {
        "input": {
            "description": "One text or a list; what is over 8192 tokens is cut off.",
            "oneOf": [_TEXT, {"type": "array", "minItems": 1, "maxItems": protocol.MOST_INPUTS, "items": _TEXT}],
        },
        "model": {"enum": [protocol.MODEL, "", None]},
        "encoding_format": {"enum": ["float", "base64", "", None], "default": "float"},
        "dimensions": {
            "anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["", None]}],
            "description": "Checked, then ignored: the dimension is 1024.",
        },
    },
    "input",
)

SCHEMAS: Schema = {
    "EmbeddingList": answer_object(
        {
            "object": {"const": "list"},
            "data": {"type": "array", "items": reference("Embedding")},
            "model": {"const": protocol.MODEL},
            "usage": answer_object({"prompt_tokens": {"type": "integer"}, "total_tokens": {"type": "integer"}}),
        }
    ),
    "Embedding": answer_object(
        {
            "object": {"const": "embedding"},
            "index": {"type": "integer", "minimum": 0},
            "embedding": {
                "description": "1024 numbers of length 1; with base64 their float32 bytes, little-endian.",
                "oneOf": [
                    {"type": "array", "minItems": 1024, "maxItems": 1024, "items": {"type": "number"}},
                    {"type": "string", "contentEncoding": "base64"},
                ],
            },
        }
    ),
}

PATHS: Schema = {"/v1/embeddings": post("Embeddings", json_content(_BODY), json_content(reference("EmbeddingList")))}
