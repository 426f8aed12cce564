"""What ``POST /v1/embeddings`` takes."""

from dataclasses import dataclass
from typing import Any

from frontend.catalogue.extensions import CLIENT_PARAMETERS, LARGE_BATCHES, SPARSE_EMBEDDINGS, TOKEN_ARRAYS
from frontend.catalogue.models import EMBEDDINGS, PREFIXES, Served
from frontend.parameters.kinds import Choice, Choices, Integer, ModelName, Schema, Texts
from frontend.parameters.table import Table

_TOKENS = {"minimum": 0, "maximum": 100_255}
MOST_INPUTS, MOST_OF_A_LARGE_BATCH = 32, 2048
FORMATS = ("float", "base64")
DENSE, SPARSE = "dense", "sparse"
# Values of ``input_type`` of Cohere's, Voyage's and NVIDIA's clients; the first two say that texts are queries.
_INPUT_TYPES = ("query", "search_query", "document", "passage", "search_document", "classification", "clustering")
QUERIES = _INPUT_TYPES[:2]
OF_CLIENTS = ("user", "input_type", "task", "normalized", "truncate", "truncation")


def most_inputs(served: Served) -> int:
    return MOST_OF_A_LARGE_BATCH if LARGE_BATCHES in served.extensions else MOST_INPUTS


def cut(served: Served) -> str:
    tokens = sorted({model.max_tokens for model in served.by_id(EMBEDDINGS).values()}, reverse=True)
    by_model = ", as the model takes" if len(tokens) > 1 else ""
    return f"One text or a list; each is cut after {' or '.join(map(str, tokens))} tokens{by_model}."


@dataclass(frozen=True, kw_only=True)
class Inputs(Texts):
    """Texts. With the extension, each may be an array of tokens, and one array of tokens is one text."""

    def check(self, value: Any, served: Served) -> list[str]:
        first = value[0] if isinstance(value, list) and value else ""
        if TOKEN_ARRAYS not in served.extensions or not isinstance(first, list | int | float):
            return super().check(value, served)
        arrays = value if isinstance(first, list) else [value]
        self.check_number(len(arrays), served)
        # Other deployments need no tokens.
        from frontend.parameters.cl100k import texts_of

        return texts_of(arrays, self.name)

    def values(self, served: Served) -> Schema:
        schema = super().values(served)
        if TOKEN_ARRAYS not in served.extensions:
            return schema
        # An array of numbers is one text.
        del schema["maxItems"]
        return {**schema, "items": {"minLength": 1, **_TOKENS, "minItems": 1, "items": {"type": "integer", **_TOKENS}}}


def _dimension(served: Served) -> str:
    models = served.by_id(EMBEDDINGS)
    widths = sorted({model.width for model in models.values()}, reverse=True)
    shorter = [
        f"{name} gives {', '.join(map(str, model.dimensions))}" for name, model in models.items() if model.dimensions
    ]
    return f"Checked, then ignored: the dimension is {' or '.join(map(str, widths))}." + "".join(
        f" But {each}." for each in shorter
    )


DIMENSIONS = Integer("dimensions", _dimension)
PARAMETERS = Table(
    Inputs("input", cut, most=most_inputs, or_one=True),
    ModelName(named=lambda served: served.model_names(EMBEDDINGS)),
    Choice(
        "encoding_format", "With `base64`, float32 numbers in little-endian order.", names=FORMATS, default=FORMATS[0]
    ),
    DIMENSIONS,
    Choices(
        "outputs",
        "`dense` for vectors, as without it, `sparse` for the weights of tokens, from models that have them.",
        names=(DENSE, SPARSE),
        needs=SPARSE_EMBEDDINGS,
    ),
    Choice(
        "input_type",
        "Whether the texts are queries or documents, for models that were trained with a prefix for each.",
        names=_INPUT_TYPES,
        needs=PREFIXES,
    ),
    Choice("embedding_type", "As `encoding_format`, which goes first.", names=FORMATS, needs=CLIENT_PARAMETERS),
    of_clients=OF_CLIENTS,
)
