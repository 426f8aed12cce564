"""The OpenAPI description of the dialects."""

from frontend.catalogue import parameters
from frontend.catalogue.models import EMBEDDINGS, RERANK, Served
from frontend.extensions.dialects.rerank import LAST_PRIORITY
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
from frontend.operations.embeddings import openapi as embeddings
from frontend.operations.rerank import openapi as rerank

_CUTTING = {
    "truncate": {"type": "boolean", "description": "With false, a text that is too long gets 413."},
    "truncation_direction": one_of(fields.DIRECTIONS[:1], default=fields.DIRECTIONS[0]),
}

_RERANK_SCHEMAS: Schema = {
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
    """The paths of the operations that are served."""
    paths = _embeddings(served) if served.ids(EMBEDDINGS) else {}
    if not served.ids(RERANK):
        return OpenApiFragment(paths)
    return OpenApiFragment(paths | _rerank(served), _RERANK_SCHEMAS)


def _embeddings(served: Served) -> Schema:
    width = max(model.width for model in served.by_id(EMBEDDINGS).values())
    more = ignored(parameters.ignored(EMBEDDINGS, served))
    checked = {"type": "boolean", "description": "Checked, then ignored: vectors have length 1."}
    dimensions = {"type": "integer", "minimum": 1, "description": f"Checked, then ignored: the dimension is {width}."}
    asked = {"inputs": embeddings.texts_of(served), "normalize": checked, "dimensions": dimensions}
    sentences = {"source_sentence": embeddings.TEXT, "sentences": {"type": "array", **embeddings.LIST}}
    compared = {"inputs": request_object(sentences, *sentences), "parameters": request_object(_CUTTING)}
    example = dict(zip(sentences, (embeddings.EXAMPLE["input"][0], embeddings.EXAMPLE["input"][1:]), strict=True))
    texts = {"inputs": embeddings.EXAMPLE["input"]}
    numbers = {"type": "array", "items": {"type": "number"}}
    return {
        "/embed": post(
            "createPlainEmbedding",
            "Embeddings, as TEI",
            json_content(request_object({**more, **asked, **_CUTTING}, "inputs"), texts),
            json_content({"type": "array", "items": numbers}),
        ),
        "/similarity": post(
            "createSimilarity",
            "Compare a text with others, as TEI",
            json_content(request_object({**more, **compared}, "inputs"), {"inputs": example}),
            json_content(numbers),
        ),
    }


def _rerank(served: Served) -> Schema:
    priority = {"type": "integer", "minimum": 0, "maximum": LAST_PRIORITY, "description": "Ignored."}
    cohere = rerank.body_of(served, {"max_tokens_per_doc": rerank.MOST_TOKENS, "priority": priority})
    plain = {"anyOf": [_tei_body(served), rerank.body_of(served, rerank.JINA)]}
    # An array or an object, so it has no type.
    either = {"items": reference("TeiRank"), "description": "TEI's array, or the answer of /v1/rerank."}
    example = {"query": rerank.EXAMPLE["query"], "texts": rerank.EXAMPLE["documents"]}
    return {
        "/v2/rerank": post(
            "createCohereRerank",
            "Order documents, as Cohere",
            json_content(cohere, rerank.EXAMPLE),
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


def _tei_body(served: Served) -> Schema:
    return request_object(
        {
            "query": {"type": "string", "minLength": 1},
            "texts": rerank.candidates(served),
            "raw_scores": {**rerank.SWITCH, "description": "Scores before the sigmoid."},
            "return_text": rerank.SWITCH,
            "truncate": {"type": "boolean", "description": "With false, a text that is too long gets 413."},
            "truncation_direction": one_of(fields.DIRECTIONS[:1], default=fields.DIRECTIONS[0]),
            "top_n": rerank.TOP_N,
            **ignored(parameters.ignored(RERANK, served)),
        },
        "query",
        "texts",
    )
