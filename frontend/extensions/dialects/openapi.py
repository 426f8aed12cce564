"""The OpenAPI description of the dialects."""

from frontend.catalogue.models import EMBEDDINGS, RERANK, Served
from frontend.extensions.dialects.parameters import COHERE, EMBED, JINA, SIMILARITY, TEI
from frontend.extensions.dialects.rerank import CohereRanking, TeiRank
from frontend.http.schemas import OpenApiFragment, json_content
from frontend.operations.embeddings.openapi import EXAMPLE as EMBEDDED
from frontend.operations.rerank.openapi import EXAMPLE as RANKED


def describe(served: Served) -> OpenApiFragment:
    own = OpenApiFragment(served)
    if served.ids(EMBEDDINGS):
        _add_embeddings(own)
    if served.ids(RERANK):
        _add_rerank(own)
    return own


def _add_embeddings(own: OpenApiFragment) -> None:
    texts = EMBEDDED["input"]
    body = own.takes(EMBED, {"inputs": texts})
    own.post("/embed", "createPlainEmbedding", "Embeddings, as TEI", body, own.answers(list[list[float]]))
    body = own.takes(SIMILARITY, {"inputs": {"source_sentence": texts[0], "sentences": texts[1:]}})
    own.post("/similarity", "createSimilarity", "Compare a text with others, as TEI", body, own.answers(list[float]))


def _add_rerank(own: OpenApiFragment) -> None:
    body, answer = own.takes(COHERE, RANKED), own.answers(CohereRanking)
    own.post("/v2/rerank", "createCohereRerank", "Order documents, as Cohere", body, answer)
    tables = {"anyOf": [TEI.schema(own.served), JINA.schema(own.served)]}
    body = json_content(tables, {"query": RANKED["query"], "texts": RANKED["documents"]})
    # An array or an object, so it has no type.
    either = {"items": own.named(TeiRank), "description": "TEI's array, or the answer of /v1/rerank."}
    own.post(
        "/rerank",
        "createPlainRerank",
        "Order documents, as TEI or Jina",
        body,
        json_content(either),
        description="With texts, the answer is TEI's array; with documents, it is that of /v1/rerank.",
    )
