"""The product's HTTP server with a single handler, for tests that need no application."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from frontend.app_keys import PATHS
from frontend.catalogue.endpoints import CORE
from frontend.config.settings import Settings
from frontend.http.arrival import defer_continue
from frontend.http.runner import Runner
from frontend.middleware.errors import errors_middleware


@asynccontextmanager
async def serving(
    handler: Handler,
    settings: Settings | None = None,
    middlewares: Sequence[Middleware] = (errors_middleware,),
    parts: Mapping[web.AppKey[Any], Any] | None = None,
) -> AsyncIterator[int]:
    """Serve ``GET`` and ``POST`` of ``/known`` and ``/known/{name}`` by ``handler``; yields the port."""
    app = web.Application(middlewares=middlewares)
    app[PATHS] = CORE
    for key, part in (parts or {}).items():
        app[key] = part
    for path in ("/known", "/known/{name}"):
        app.router.add_get(path, handler)
        app.router.add_post(path, handler, expect_handler=defer_continue)
    runner = Runner(app, settings or Settings())
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
