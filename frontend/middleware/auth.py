"""Who is calling: before a body is read, after path and method are known to exist."""

from collections.abc import Callable

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from frontend.access.keys import Caller, bearer_token

CALLER = web.RequestKey("caller", Caller)
Identify = Callable[[str], Caller]


def auth_middleware(by_prefix: dict[str, Identify]) -> Middleware:
    """Paths that start with a key of ``by_prefix`` need the token its function knows; others are open."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.match_info.http_exception is None:
            for prefix, identify in by_prefix.items():
                if request.path.startswith(prefix):
                    request[CALLER] = identify(bearer_token(request.headers.get("Authorization")))
        return await handler(request)

    return middleware
