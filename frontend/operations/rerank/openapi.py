"""The OpenAPI description of rerank."""

from collections.abc import Collection

from frontend.catalogue import parameters
from frontend.catalogue.models import RERANK, Model, Served
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
from frontend.operations.rerank import protocol

_EXAMPLE = {"query": "How cold is the lake?", "documents": ["Bananas are yellow.", "The lake has 8 degrees."]}


def _body(served: Served) -> Schema:
    models = served.by_id(RERANK).values()
    tokens = max(model.max_tokens for model in models)
    return request_object(
        {
            "query": {"type": "string", "minLength": 1},
            "documents": {
                "type": "array",
                "minItems": 1,
                "maxItems": protocol.MOST_DOCUMENTS,
                "items": {"type": "string"},
                "description": f"Each document is cut after {tokens} tokens, query included.",
            },
            "top_n": {
                "type": "integer",
                "minimum": 1,
                "description": "The number of best results to return; all if absent.",
            },
            "return_documents": {"type": "boolean", "default": False},
            "model": one_of(served.model_names(RERANK)),
            **ignored(parameters.ignored(RERANK, served)),
        },
        "query",
        "documents",
    )


def _schemas(models: Collection[Model]) -> Schema:
    return {
        "Ranking": answer_object(
            {
                "object": one_of(["list"]),
                "model": one_of(model.id for model in models),
                "results": {"type": "array", "items": reference("RankedDocument")},
                "usage": answer_object({"total_tokens": {"type": "integer"}}),
            }
        ),
        "RankedDocument": answer_object(
            {
                "index": {"type": "integer", "minimum": 0, "description": "The position in the request's documents."},
                "relevance_score": {"type": "number", "minimum": 0, "maximum": 1},
                "document": answer_object({"text": {"type": "string"}}),
            },
            "document",
        ),
    }


def describe(served: Served) -> OpenApiFragment:
    models = served.by_id(RERANK).values()
    summary, answer = "Order documents by their relevance to a query", json_content(reference("Ranking"))
    body = json_content(_body(served), _EXAMPLE)
    return OpenApiFragment({"/v1/rerank": post("createRerank", summary, body, answer)}, _schemas(models))
