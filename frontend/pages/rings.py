"""The pages for people, and the documents that they show."""

from collections.abc import Iterator
from contextlib import AsyncExitStack

from aiohttp import web

from frontend.catalogue.endpoints import Paths
from frontend.config.settings import Settings
from frontend.pages import docs, offer, openapi, site
from frontend.pages.fixed import FIXED
from frontend.rings import Ring


async def _start(app: web.Application, closing: AsyncExitStack) -> None:
    app[FIXED] = {}


def _routes(settings: Settings) -> Iterator[web.RouteDef]:
    yield from (*docs.routes(settings), *site.ROUTES, *offer.ROUTES, *openapi.ROUTES)
    if settings.admin_key:
        yield from site.KEYS_PAGE


RINGS = (
    Ring(
        routes=_routes,
        paths=Paths(private=("/keys",), on_both_ports=("/shared/", "/favicon.ico")),
        middlewares=(site.missing_middleware,),
        start=_start,
    ),
)
