"""What the OpenAPI document says of rerank."""

from typing import Any

from frontend.fields import NULL
from frontend.operations.rerank import protocol

_BODY = {
    "type": "object",
    "additionalProperties": NULL,
    "required": ["query", "documents"],
    "properties": {
        "query": {"type": "string", "minLength": 1},
        "documents": {
            "type": "array",
            "minItems": 1,
            "maxItems": protocol.MOST_DOCUMENTS,
            "items": {"type": "string"},
            "description": "A document is cut where it and the query are over 8192 tokens.",
        },
        "top_n": {"anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["", None]}], "description": "All if absent."},
        "return_documents": {"enum": [True, False, "", None], "default": False},
        "model": {"enum": [protocol.MODEL, "", None]},
    },
}

SCHEMAS: dict[str, Any] = {
    "Ranking": {
        "type": "object",
        "additionalProperties": False,
        "required": ["object", "model", "results", "usage"],
        "properties": {
            "object": {"const": "list"},
            "model": {"const": protocol.MODEL},
            "results": {"type": "array", "items": {"$ref": "#/components/schemas/RankedDocument"}},
            "usage": {
                "type": "object",
                "additionalProperties": False,
                "required": ["total_tokens"],
                "properties": {"total_tokens": {"type": "integer"}},
            },
        },
    },
    "RankedDocument": {
        "type": "object",
        "additionalProperties": False,
        "required": ["index", "relevance_score"],
        "properties": {
            "index": {"type": "integer", "minimum": 0, "description": "Its place among the documents of the request."},
            "relevance_score": {"type": "number", "minimum": 0, "maximum": 1},
            "document": {
                "type": "object",
                "additionalProperties": False,
                "required": ["text"],
                "properties": {"text": {"type": "string"}},
            },
        },
    },
}

PATHS: dict[str, Any] = {
    "/v1/rerank": {
        "post": {
            "summary": "Order documents by their relevance to a query",
            "requestBody": {"required": True, "content": {"application/json": {"schema": _BODY}}},
            "responses": {
                "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Ranking"}}}}
            },
        }
    }
}
