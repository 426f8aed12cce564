"""What the paths of Cohere, Jina and TEI take."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from frontend.catalogue.aliases import Aliases
from frontend.catalogue.models import Served
from frontend.parameters import embeddings, rerank
from frontend.parameters.kinds import NOTHING, Boolean, Choice, Integer, Parameter, Schema, Text, Texts, one_of
from frontend.parameters.rerank import OF_THE_CONTRACT, QUERY, TOP_N, Documents
from frontend.parameters.table import Table


@dataclass(frozen=True, kw_only=True)
class _Object(Parameter):
    """An object with the parameters of a table; without any if absent."""

    table: Table

    def read(self, values: Mapping[str, Any], served: Served = NOTHING) -> dict[str, Any]:
        value = values.get(self.name)
        if value is None or value == "":
            value = {}
        if not isinstance(value, dict):
            raise self.refusal("must be an object")
        return self.table.read(value, _without_aliases(served))

    def values(self, served: Served) -> Schema:
        return self.table.schema(_without_aliases(served))


def _without_aliases(served: Served) -> Served:
    """What is served, without what is ignored beside the parameters of an object."""
    return replace(served, aliases=Aliases())


@dataclass(frozen=True, kw_only=True)
class _Direction(Choice):
    """Where TEI cuts a text. It writes the names in both ways."""

    names: tuple[str, ...] = ("right", "Right")
    default: str = "right"

    def values(self, served: Served) -> Schema:
        return one_of(self.names[:1])


# As by a TEI with --auto-truncate, long texts are cut unless the request says no.
_CUTTING = (
    Boolean("truncate", "With false, a text that is too long gets 413."),
    _Direction("truncation_direction"),
)
EMBED = Table(
    Texts("inputs", embeddings.cut, most=embeddings.most_inputs, or_one=True),
    Boolean("normalize", "Checked, then ignored: vectors have length 1."),
    embeddings.DIMENSIONS,
    *_CUTTING,
    of_clients=embeddings.OF_CLIENTS,
)
_COMPARED = Table(
    Text("source_sentence", required=True),
    Texts("sentences", most=embeddings.most_inputs),
)
SIMILARITY = Table(
    _Object("inputs", required=True, table=_COMPARED),
    _Object("parameters", table=Table(*_CUTTING)),
    of_clients=embeddings.OF_CLIENTS,
)
COHERE = Table(
    *OF_THE_CONTRACT,
    Integer("max_tokens_per_doc", rerank.MOST_TOKENS),
    Integer("priority", "Ignored.", least=0, most=999),
    of_clients=rerank.OF_CLIENTS,
)
JINA = Table(
    *OF_THE_CONTRACT,
    Integer("top_k", rerank.AS_TOP_N),
    Integer("max_doc_length", rerank.MOST_TOKENS),
    of_clients=rerank.OF_CLIENTS,
)
TEI = Table(
    QUERY,
    Documents("texts", rerank.cut),
    Boolean("raw_scores", "Scores before the sigmoid.", default=False),
    Boolean("return_text", default=False),
    *_CUTTING,
    # TEI has none, but LiteLLM sends it.
    TOP_N,
    of_clients=rerank.OF_CLIENTS,
)
