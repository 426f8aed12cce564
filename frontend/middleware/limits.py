"""Rate limits, after authentication and before the body is read."""

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.app_keys import CALLER, HEADERS, LIMITER, PATHS


@web.middleware
async def limits_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Apply the path's rate limit. Its headers go out with every answer; a refusal has its own."""
    name = request.app[PATHS].limit_of(request.path)
    if name is not None and request.match_info.http_exception is None:
        request[HEADERS].update(await request.app[LIMITER].take(request[CALLER], name))
    return await handler(request)
