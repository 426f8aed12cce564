"""What ``POST /v1/rerank`` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frontend.catalogue.extensions import CLIENT_PARAMETERS, RERANK_DIALECTS
from frontend.catalogue.models import RERANK, Served
from frontend.errors import InvalidRequest
from frontend.parameters.embeddings import most_inputs
from frontend.parameters.kinds import Boolean, Integer, Known, ModelName, Schema, Text, Texts
from frontend.parameters.table import Table

# A document with other fields, which are not read.
_DOCUMENT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}


@dataclass(frozen=True, kw_only=True)
class Documents(Texts):
    """Candidates. With the extension for dialects, a document may be an object that has a text."""

    # As many as inputs.
    most: Known[int] = most_inputs
    empty_allowed: bool = True

    def check(self, value: Any, served: Served) -> list[str]:
        if RERANK_DIALECTS in served.extensions and isinstance(value, list):
            value = [self._text(item, f"{self.name}[{index}]") for index, item in enumerate(value)]
        return super().check(value, served)

    def _text(self, item: Any, path: str) -> Any:
        if not isinstance(item, dict):
            return item
        if not isinstance(item.get("text"), str):
            message = f"{path} must be a string, or an object with a string as its text"
            raise InvalidRequest(message, param=self.name)
        return item["text"]

    def items(self, served: Served) -> Schema:
        text = super().items(served)
        return {"oneOf": [text, _DOCUMENT]} if RERANK_DIALECTS in served.extensions else text


def cut(served: Served) -> str:
    tokens = max(model.max_tokens for model in served.by_id(RERANK).values())
    return f"Each document is cut after {tokens} tokens, query included."


QUERY = Text("query", "The question or search text.", required=True)
TOP_N = Integer("top_n", "The number of best results to return; all if absent.")
OF_THE_CONTRACT = (
    QUERY,
    Documents("documents", cut),
    TOP_N,
    Boolean("return_documents", "Adds each text to its result.", default=False),
    ModelName(named=lambda served: served.model_names(RERANK)),
)
OF_CLIENTS = ("user", "max_chunks_per_doc", "truncation")
AS_TOP_N, MOST_TOKENS = "As top_n.", "The most tokens of a document."
PARAMETERS = Table(
    *OF_THE_CONTRACT,
    # Jina's and Voyage's names of what we have.
    Integer("top_k", AS_TOP_N, needs=CLIENT_PARAMETERS),
    Integer("max_doc_length", MOST_TOKENS, needs=CLIENT_PARAMETERS),
    of_clients=OF_CLIENTS,
)


def top_n(given: Mapping[str, Any]) -> int | None:
    """``top_n``, or Jina's and Voyage's name of it."""
    own, other = given["top_n"], given.get("top_k")
    if own is not None and other is not None:
        raise InvalidRequest("top_k is another name of top_n: give one of them", param="top_k")
    return own or other
