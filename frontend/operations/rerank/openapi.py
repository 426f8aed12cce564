"""The OpenAPI description of rerank."""

from collections.abc import Collection

from frontend.catalogue import parameters
from frontend.catalogue.extensions import CLIENT_PARAMETERS, RERANK_DIALECTS
from frontend.catalogue.models import RERANK, Model, Served
from frontend.extensions.dialects import rerank as dialects
from frontend.http import fields
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
_EXAMPLE = {"query": "How cold is the lake?", "documents": ["Bananas are yellow.", "The lake has 8 degrees."]}
# A document with other fields, which are not read.
_DOCUMENT = {"type": "object", "required": ["text"], "properties": {"text": _TEXT}}
_COUNT = {"type": "integer", "minimum": 1}
_TOP_N = {**_COUNT, "description": "The number of best results to return; all if absent."}
_MOST_TOKENS = {**_COUNT, "description": "The most tokens of a document."}
# Jina's names.
_JINA = {"top_k": {**_COUNT, "description": "As top_n."}, "max_doc_length": _MOST_TOKENS}
_SWITCH = {"type": "boolean", "default": False}


def _candidates(served: Served) -> Schema:
    tokens = max(model.max_tokens for model in served.by_id(RERANK).values())
    return {
        "type": "array",
        "minItems": 1,
        "maxItems": protocol.MOST_DOCUMENTS,
        "items": {"oneOf": [_TEXT, _DOCUMENT]} if RERANK_DIALECTS in served.extensions else _TEXT,
        "description": f"Each document is cut after {tokens} tokens, query included.",
    }


def _body(served: Served, more: Schema) -> Schema:
    return request_object(
        {
            "query": {"type": "string", "minLength": 1},
            "documents": _candidates(served),
            "top_n": _TOP_N,
            "return_documents": _SWITCH,
            "model": one_of(served.model_names(RERANK)),
            **more,
            **ignored(parameters.ignored(RERANK, served)),
        },
        "query",
        "documents",
    )


def _tei_body(served: Served) -> Schema:
    return request_object(
        {
            "query": {"type": "string", "minLength": 1},
            "texts": _candidates(served),
            "raw_scores": {**_SWITCH, "description": "Scores before the sigmoid."},
            "return_text": _SWITCH,
            "truncate": {"type": "boolean", "description": "With false, a text that is too long gets 413."},
            "truncation_direction": one_of(fields.DIRECTIONS[:1], default=fields.DIRECTIONS[0]),
            "top_n": _TOP_N,
            **ignored(parameters.ignored(RERANK, served)),
        },
        "query",
        "texts",
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


_DIALECT_SCHEMAS: Schema = {
    "CohereRanking": answer_object(
        {
            "id": {"type": "string"},
            "results": {"type": "array", "items": reference("RankedDocument")},
            "meta": answer_object(
                {
                    "api_version": answer_object({"version": one_of(["2"])}),
                    "billed_units": answer_object(
                        {"search_units": {"type": "integer"}, "input_tokens": {"type": "integer"}}
                    ),
                }
            ),
        }
    ),
    "TeiRank": answer_object(
        {"index": {"type": "integer", "minimum": 0}, "score": {"type": "number"}, "text": {"type": "string"}}, "text"
    ),
}


def describe(served: Served) -> OpenApiFragment:
    models = served.by_id(RERANK).values()
    summary, answer = "Order documents by their relevance to a query", json_content(reference("Ranking"))
    body = json_content(_body(served, _JINA if CLIENT_PARAMETERS in served.extensions else {}), _EXAMPLE)
    own = OpenApiFragment({"/v1/rerank": post("createRerank", summary, body, answer)}, _schemas(models))
    if RERANK_DIALECTS not in served.extensions:
        return own
    return OpenApiFragment(own.paths | _dialect_paths(served), own.schemas | _DIALECT_SCHEMAS)


def _dialect_paths(served: Served) -> Schema:
    priority = {"type": "integer", "minimum": 0, "maximum": dialects.LAST_PRIORITY, "description": "Ignored."}
    cohere = _body(served, {"max_tokens_per_doc": _MOST_TOKENS, "priority": priority})
    plain = {"anyOf": [_tei_body(served), _body(served, _JINA)]}
    # An array or an object, so it has no type.
    either = {"items": reference("TeiRank"), "description": "TEI's array, or the answer of /v1/rerank."}
    example = {"query": _EXAMPLE["query"], "texts": _EXAMPLE["documents"]}
    return {
        "/v2/rerank": post(
            "createCohereRerank",
            "Order documents, as Cohere",
            json_content(cohere, _EXAMPLE),
            json_content(reference("CohereRanking")),
        ),
        "/rerank": post(
            "createPlainRerank",
            "Order documents, as TEI or Jina",
            json_content(plain, example),
            json_content(either),
            description="With texts, the answer is TEI's array; with documents, it is that of /v1/rerank.",
        ),
    }
