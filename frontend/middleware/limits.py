"""How often: after the caller is known, before the body is read."""

from collections.abc import Mapping

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from frontend.access.limits import Limiter
from frontend.app_keys import CALLER, LIMITER
from frontend.middleware.request_id import HEADERS


def limits_middleware(names: Mapping[str, str]) -> Middleware:
    """``names`` gives the limit of each path that has one; its headers go out with every answer from here on,
    and a refusal brings its own."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        name = names.get(request.path)
        if name is not None and request.match_info.http_exception is None:
            limiter: Limiter = request.app[LIMITER]
            request[HEADERS].update(await limiter.take(request[CALLER], name))
        return await handler(request)

    return middleware
