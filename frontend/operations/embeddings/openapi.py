"""The OpenAPI description of embeddings."""

from frontend.catalogue.models import Served
from frontend.http.schemas import OpenApiFragment
from frontend.operations.embeddings.protocol import EmbeddingList
from frontend.parameters.embeddings import PARAMETERS

EXAMPLE = {"input": ["The lake is cold in April.", "Im April ist der See kalt."]}


def describe(served: Served) -> OpenApiFragment:
    own = OpenApiFragment(served)
    own.post(
        "/v1/embeddings", "createEmbedding", "Embeddings", own.takes(PARAMETERS, EXAMPLE), own.answers(EmbeddingList)
    )
    return own
