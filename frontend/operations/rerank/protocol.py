"""Rerank requests and answers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from frontend.catalogue.models import RERANK, Served
from frontend.parameters.rerank import PARAMETERS, top_n


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


class _Document(TypedDict):
    text: str


def _bounds(served: Served) -> dict[str, int]:
    """The least and the largest score, unless a model gives them without the sigmoid."""
    return {} if any(model.raw_scores for model in served.models) else {"minimum": 0, "maximum": 1}


class RankedDocument(TypedDict):
    index: Annotated[int, {"minimum": 0, "description": "The position in the request's documents."}]
    relevance_score: Annotated[float, _bounds]
    document: NotRequired[_Document]


class _Usage(TypedDict):
    total_tokens: int


class Ranking(TypedDict):
    """The answer."""

    object: Literal["list"]
    model: Annotated[str, lambda served: {"enum": list(served.by_id(RERANK))}]
    results: list[RankedDocument]
    usage: _Usage


def parse(values: Mapping[str, Any], served: Served) -> RerankRequest:
    """Parse the endpoint's JSON."""
    given = PARAMETERS.read(values, served)
    return build(given, document_tokens=given.get("max_doc_length"))


def build(given: Mapping[str, Any], **more: Any) -> RerankRequest:
    """A request from the parameters of the contract. ``more`` has fields that these do not give."""
    names = ("model", "query", "documents", "return_documents")
    return RerankRequest(**{name: given[name] for name in names}, top_n=top_n(given), **more)


def render(ranking: Iterable[tuple[int, float]], tokens: int, request: RerankRequest) -> Ranking:
    """The answer's JSON from (index, score) of the best documents, best first."""
    results: list[RankedDocument] = []
    for index, score in ranking:
        result: RankedDocument = {"index": index, "relevance_score": score}
        if request.return_documents:
            result["document"] = {"text": request.documents[index]}
        results.append(result)
    return {"object": "list", "model": request.model, "results": results, "usage": {"total_tokens": tokens}}
