"""Rerank requests and answers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from frontend.catalogue import parameters
from frontend.catalogue.models import RERANK, Served
from frontend.errors import InvalidRequest
from frontend.http import fields

MOST_DOCUMENTS = 32


@dataclass(frozen=True)
class RerankRequest:
    """A query and its candidates; ``top_n`` None means all."""

    model: str
    query: str
    documents: list[str]
    top_n: int | None
    return_documents: bool


def parse(values: Mapping[str, Any], served: Served) -> RerankRequest:
    """Parse the endpoint's JSON."""
    fields.refuse_unknown(values, parameters.meant(RERANK, served), parameters.ignored(RERANK, served))
    model = fields.model(values, served.model_names(RERANK))
    query = fields.text(values, "query")
    if query is None:
        raise InvalidRequest("query must be a string that is not empty", param="query")
    return RerankRequest(
        model=model,
        query=query,
        documents=fields.strings(values, "documents", MOST_DOCUMENTS, empty_allowed=True),
        top_n=fields.positive_integer(values, "top_n"),
        return_documents=fields.boolean(values, "return_documents"),
    )


def render(ranking: Iterable[tuple[int, float]], tokens: int, request: RerankRequest) -> dict[str, Any]:
    """The answer's JSON from (index, score) of the best documents, best first."""
    results: list[dict[str, Any]] = []
    for index, score in ranking:
        result: dict[str, Any] = {"index": index, "relevance_score": score}
        if request.return_documents:
            result["document"] = {"text": request.documents[index]}
        results.append(result)
    return {"object": "list", "model": request.model, "results": results, "usage": {"total_tokens": tokens}}
