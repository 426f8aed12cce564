"""Embeddings and rerank as the clients of Cohere, Jina and TEI ask for them."""

from collections.abc import Iterator

from aiohttp import web

from frontend.catalogue.endpoints import API_KEY, Paths
from frontend.catalogue.extensions import RERANK_DIALECTS
from frontend.catalogue.models import EMBEDDINGS, RERANK
from frontend.config.settings import Settings
from frontend.extensions.dialects import handler, openapi
from frontend.rings import Ring

_LIKE = {
    "/v2/rerank": "/v1/rerank",
    "/rerank": "/v1/rerank",
    "/embed": "/v1/embeddings",
    "/similarity": "/v1/embeddings",
}


def _routes(settings: Settings) -> Iterator[web.RouteDef]:
    if EMBEDDINGS in settings.operations:
        yield from handler.EMBEDDINGS
    if RERANK in settings.operations:
        yield from handler.RERANK


DIALECTS = Ring(
    is_on=lambda settings: RERANK_DIALECTS in settings.served.extensions,
    routes=_routes,
    describe=lambda settings: openapi.describe(settings.served),
    paths=Paths(like=_LIKE, auth=dict.fromkeys(_LIKE, API_KEY)),
)
