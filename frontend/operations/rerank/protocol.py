"""Rerank requests and answers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from frontend.catalogue import parameters
from frontend.catalogue.extensions import RERANK_DIALECTS
from frontend.catalogue.models import RERANK, Served
from frontend.errors import InvalidRequest
from frontend.http import fields

MOST_DOCUMENTS = 32


@dataclass(frozen=True)
class RerankRequest:
    """A query and its candidates; ``top_n`` None means all.

    The other fields are of dialects: the most tokens of a document, whether long texts are cut or refused, whether
    scores come without the sigmoid, and whether the answer is TEI's.
    """

    model: str
    query: str
    documents: list[str]
    top_n: int | None = None
    return_documents: bool = False
    document_tokens: int | None = None
    truncate: bool = True
    raw_scores: bool = False
    is_tei: bool = False


def parse(values: Mapping[str, Any], served: Served) -> RerankRequest:
    """Parse the endpoint's JSON."""
    fields.refuse_unknown(values, parameters.meant(RERANK, served), parameters.ignored(RERANK, served))
    return build(values, served)


def build(values: Mapping[str, Any], served: Served, documents: str = "documents", **more: Any) -> RerankRequest:
    """A request from parameters whose names are known.

    ``documents`` names the candidates, and ``more`` has fields that the parameters do not give.
    """
    model = fields.model(values, served.model_names(RERANK))
    query = fields.text(values, "query")
    if query is None:
        raise InvalidRequest("query must be a string that is not empty", param="query")
    return RerankRequest(
        model=model,
        query=query,
        documents=fields.strings(_texts(values, served, documents), documents, MOST_DOCUMENTS, empty_allowed=True),
        **{
            "top_n": _top_n(values),
            "document_tokens": fields.positive_integer(values, "max_doc_length"),
            "return_documents": fields.boolean(values, "return_documents"),
            **more,
        },
    )


def _top_n(values: Mapping[str, Any]) -> int | None:
    """``top_n``, or Jina's and Voyage's name of it, which not every path takes."""
    own, other = (fields.positive_integer(values, name) for name in ("top_n", "top_k"))
    if own is not None and other is not None:
        raise InvalidRequest("top_k is another name of top_n: give one of them", param="top_k")
    return own or other


def _texts(values: Mapping[str, Any], served: Served, name: str) -> Mapping[str, Any]:
    """The parameters with the ``text`` of each document that is an object, if the extension is on."""
    items = values.get(name)
    if RERANK_DIALECTS not in served.extensions or not isinstance(items, list):
        return values
    return {name: [_text(item, f"{name}[{index}]", name) for index, item in enumerate(items)]}


def _text(item: Any, place: str, name: str) -> Any:
    if not isinstance(item, dict):
        return item
    if not isinstance(item.get("text"), str):
        raise InvalidRequest(f"{place} must be a string, or an object with a string as its text", param=name)
    return item["text"]


def render(ranking: Iterable[tuple[int, float]], tokens: int, request: RerankRequest) -> dict[str, Any]:
    """The answer's JSON from (index, score) of the best documents, best first."""
    results: list[dict[str, Any]] = []
    for index, score in ranking:
        result: dict[str, Any] = {"index": index, "relevance_score": score}
        if request.return_documents:
            result["document"] = {"text": request.documents[index]}
        results.append(result)
    return {"object": "list", "model": request.model, "results": results, "usage": {"total_tokens": tokens}}
