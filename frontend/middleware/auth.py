"""Who is calling: before a body is read, after path and method are known to exist."""

from collections.abc import Mapping

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from frontend.access.caller import Caller, Identifies, bearer_token
from frontend.app_keys import ADMIN, CALLER, WRONG_KEYS
from frontend.errors import Unauthorized
from frontend.http.connection import KNOWN


def auth_middleware(by_prefix: Mapping[str, web.AppKey[Identifies]]) -> Middleware:
    """Paths that start with a key of ``by_prefix`` need a token that the named part knows; others are open."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.match_info.http_exception is None:
            for prefix, part in by_prefix.items():
                if request.path.startswith(prefix):
                    request[CALLER] = await _identify(request, part)
                    request[KNOWN] = True
        return await handler(request)

    return middleware


async def _identify(request: web.Request, part: web.AppKey[Identifies]) -> Caller:
    try:
        return await request.app[part].identify(bearer_token(request.headers.getall(hdrs.AUTHORIZATION, [])))
    except Unauthorized:
        # Only the refusal waits, or is another one: a right key from the same address is let in all the same.
        await request.app[WRONG_KEYS].pause(request.remote or "")
        if part is ADMIN:
            request.app[WRONG_KEYS].note_guess(request.remote or "")
        raise
