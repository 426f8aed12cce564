"""The OpenAPI description of rerank."""

from frontend.catalogue.models import Served
from frontend.http.schemas import OpenApiFragment
from frontend.operations.rerank.protocol import Ranking
from frontend.parameters.rerank import PARAMETERS

EXAMPLE = {"query": "How cold is the lake?", "documents": ["Bananas are yellow.", "The lake has 8 degrees."]}


def describe(served: Served) -> OpenApiFragment:
    own = OpenApiFragment(served)
    summary = "Order documents by their relevance to a query"
    own.post("/v1/rerank", "createRerank", summary, own.takes(PARAMETERS, EXAMPLE), own.answers(Ranking))
    return own
