"""The OpenAPI description of rerank."""

from collections.abc import Collection

from frontend.catalogue import parameters
from frontend.catalogue.extensions import CLIENT_PARAMETERS, RERANK_DIALECTS
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

_TEXT = {"type": "string"}
EXAMPLE = {"query": "How cold is the lake?", "documents": ["Bananas are yellow.", "The lake has 8 degrees."]}
# A document with other fields, which are not read.
_DOCUMENT = {"type": "object", "required": ["text"], "properties": {"text": _TEXT}}
_COUNT = {"type": "integer", "minimum": 1}
TOP_N = {**_COUNT, "description": "The number of best results to return; all if absent."}
MOST_TOKENS = {**_COUNT, "description": "The most tokens of a document."}
# Jina's names.
JINA = {"top_k": {**_COUNT, "description": "As top_n."}, "max_doc_length": MOST_TOKENS}
SWITCH = {"type": "boolean", "default": False}


def candidates(served: Served) -> Schema:
    tokens = max(model.max_tokens for model in served.by_id(RERANK).values())
    return {
        "type": "array",
        "minItems": 1,
        "maxItems": protocol.MOST_DOCUMENTS,
        "items": {"oneOf": [_TEXT, _DOCUMENT]} if RERANK_DIALECTS in served.extensions else _TEXT,
        "description": f"Each document is cut after {tokens} tokens, query included.",
    }


def body_of(served: Served, more: Schema) -> Schema:
    return request_object(
        {
            "query": {"type": "string", "minLength": 1},
            "documents": candidates(served),
            "top_n": TOP_N,
            "return_documents": SWITCH,
            "model": one_of(served.model_names(RERANK)),
            **more,
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
    body = json_content(body_of(served, JINA if CLIENT_PARAMETERS in served.extensions else {}), EXAMPLE)
    return OpenApiFragment({"/v1/rerank": post("createRerank", summary, body, answer)}, _schemas(models))
