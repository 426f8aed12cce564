"""What ``POST /v1/embeddings`` takes."""

from frontend.catalogue.extensions import CLIENT_PARAMETERS, SPARSE_EMBEDDINGS
from frontend.catalogue.models import EMBEDDINGS, PREFIXES, Served
from frontend.parameters.kinds import Choice, Choices, Integer, ModelName, Texts
from frontend.parameters.table import Table

MOST_INPUTS = 32
FORMATS = ("float", "base64")
DENSE, SPARSE = "dense", "sparse"
# Values of ``input_type`` of Cohere's, Voyage's and NVIDIA's clients; the first two say that texts are queries.
_INPUT_TYPES = ("query", "search_query", "document", "passage", "search_document", "classification", "clustering")
QUERIES = _INPUT_TYPES[:2]
OF_CLIENTS = ("user", "input_type", "task", "normalized", "truncate", "truncation")


def cut(served: Served) -> str:
    tokens = sorted({model.max_tokens for model in served.by_id(EMBEDDINGS).values()}, reverse=True)
    by_model = ", as the model takes" if len(tokens) > 1 else ""
    return f"One text or a list; each is cut after {' or '.join(map(str, tokens))} tokens{by_model}."


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
    Texts("input", cut, most=MOST_INPUTS, or_one=True),
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
