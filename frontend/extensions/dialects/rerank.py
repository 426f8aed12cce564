"""Rerank as Cohere, Jina and TEI ask for it."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from frontend.catalogue.models import RERANK, Served
from frontend.extensions.dialects.parameters import COHERE, JINA, TEI
from frontend.operations.rerank import protocol
from frontend.operations.rerank.protocol import RankedDocument, Ranking, RerankRequest


class _ApiVersion(TypedDict):
    version: Literal["2"]


class _BilledUnits(TypedDict):
    search_units: int
    input_tokens: int


class _Meta(TypedDict):
    api_version: _ApiVersion
    billed_units: _BilledUnits


class CohereRanking(TypedDict):
    """The answer of ``/v2/rerank``. A request is one of Cohere's search units."""

    id: str
    results: list[RankedDocument]
    meta: _Meta


class TeiRank(TypedDict):
    """An item of TEI's answer."""

    index: Annotated[int, {"minimum": 0}]
    score: float
    text: NotRequired[str]


def parse_cohere(values: Mapping[str, Any], served: Served) -> RerankRequest:
    """Parse the JSON of ``/v2/rerank``. The priority is checked and ignored: the key's tier has one."""
    given = COHERE.read(values, served)
    return protocol.build(given, document_tokens=given["max_tokens_per_doc"])


def parse_plain(values: Mapping[str, Any], served: Served) -> RerankRequest:
    """Parse the JSON of ``/rerank``: TEI's if it has ``texts``, otherwise Jina's."""
    if "texts" in values:
        return _parse_tei(values, served)
    given = JINA.read(values, served)
    return protocol.build(given, document_tokens=given["max_doc_length"])


def _parse_tei(values: Mapping[str, Any], served: Served) -> RerankRequest:
    given = TEI.read(values, served)
    return RerankRequest(
        model=served.ids(RERANK)[0],
        query=given["query"],
        documents=given["texts"],
        top_n=given["top_n"],
        return_documents=given["return_text"],
        truncate=given["truncate"] is not False,
        raw_scores=given["raw_scores"],
        is_tei=True,
    )


def render_cohere(
    ranking: Iterable[tuple[int, float]], tokens: int, request: RerankRequest, name: str
) -> CohereRanking:
    """Cohere's answer with the id ``name``."""
    own = protocol.render(ranking, tokens, request)
    units: _BilledUnits = {"search_units": 1, "input_tokens": tokens}
    return {"id": name, "results": own["results"], "meta": {"api_version": {"version": "2"}, "billed_units": units}}


def render_plain(ranking: Iterable[tuple[int, float]], tokens: int, request: RerankRequest) -> Ranking | list[TeiRank]:
    """TEI's array, or the contract's answer."""
    if not request.is_tei:
        return protocol.render(ranking, tokens, request)
    items: list[TeiRank] = [{"index": index, "score": score} for index, score in ranking]
    if request.return_documents:
        for item in items:
            item["text"] = request.documents[item["index"]]
    return items
