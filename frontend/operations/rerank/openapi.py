"""What the OpenAPI document says of rerank."""

from frontend.http.schemas import Schema, answer_object, json_content, post, reference, request_object
from frontend.operations.rerank import protocol

_BODY = request_object(
    {
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
    "query",
    "documents",
)

SCHEMAS: Schema = {
    "Ranking": answer_object(
        {
            "object": {"const": "list"},
            "model": {"const": protocol.MODEL},
            "results": {"type": "array", "items": reference("RankedDocument")},
            "usage": answer_object({"total_tokens": {"type": "integer"}}),
        }
    ),
    "RankedDocument": answer_object(
        {
            "index": {"type": "integer", "minimum": 0, "description": "Its place among the documents of the request."},
            "relevance_score": {"type": "number", "minimum": 0, "maximum": 1},
            "document": answer_object({"text": {"type": "string"}}),
        },
        "document",
    ),
}

PATHS: Schema = {
    "/v1/rerank": post(
        "Order documents by their relevance to a query", json_content(_BODY), json_content(reference("Ranking"))
    )
}
