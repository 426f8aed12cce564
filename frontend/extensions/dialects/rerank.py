"""Rerank as Cohere, Jina and TEI ask for it."""

from collections.abc import Iterable, Mapping
from typing import Any

from frontend.catalogue import parameters
from frontend.catalogue.models import RERANK, Served
from frontend.http import fields
from frontend.operations.rerank import protocol
from frontend.operations.rerank.protocol import RerankRequest

# The largest priority of Cohere's.
LAST_PRIORITY = 999
_COHERE = ("max_tokens_per_doc", "priority")
_JINA = ("top_k", "max_doc_length")
# TEI has no top_n, but LiteLLM sends it.
_TEI = ("query", "texts", "raw_scores", "return_text", *fields.CUTTING, "top_n")


def _refuse_unknown(values: Mapping[str, Any], served: Served, *known: Iterable[str]) -> None:
    names = tuple(name for table in known for name in table)
    fields.refuse_unknown(values, names, parameters.ignored(RERANK, served))


def parse_cohere(values: Mapping[str, Any], served: Served) -> RerankRequest:
    """Parse the JSON of ``/v2/rerank``. The priority is checked and ignored: the key's tier has one."""
    _refuse_unknown(values, served, parameters.PARAMETERS[RERANK], _COHERE)
    fields.integer_between(values, "priority", 0, LAST_PRIORITY)
    return protocol.build(values, served, document_tokens=fields.positive_integer(values, "max_tokens_per_doc"))


def parse_plain(values: Mapping[str, Any], served: Served) -> RerankRequest:
    """Parse the JSON of ``/rerank``: TEI's if it has ``texts``, otherwise Jina's."""
    if "texts" in values:
        return _parse_tei(values, served)
    _refuse_unknown(values, served, parameters.PARAMETERS[RERANK], _JINA)
    return protocol.build(values, served)


def _parse_tei(values: Mapping[str, Any], served: Served) -> RerankRequest:
    _refuse_unknown(values, served, _TEI)
    return protocol.build(
        values,
        served,
        "texts",
        return_documents=fields.boolean(values, "return_text"),
        raw_scores=fields.boolean(values, "raw_scores"),
        truncate=fields.cuts(values),
        is_tei=True,
    )


def render_cohere(
    ranking: Iterable[tuple[int, float]], tokens: int, request: RerankRequest, name: str
) -> dict[str, Any]:
    """Cohere's answer with the id ``name``. A request is one of its search units."""
    own = protocol.render(ranking, tokens, request)
    units = {"search_units": 1, "input_tokens": tokens}
    return {"id": name, "results": own["results"], "meta": {"api_version": {"version": "2"}, "billed_units": units}}


def render_plain(
    ranking: Iterable[tuple[int, float]], tokens: int, request: RerankRequest
) -> dict[str, Any] | list[dict[str, Any]]:
    """TEI's array, or the contract's answer."""
    if not request.is_tei:
        return protocol.render(ranking, tokens, request)
    texts = request.documents if request.return_documents else None
    return [
        {"index": index, "score": score} | ({} if texts is None else {"text": texts[index]}) for index, score in ranking
    ]
