"""Authentication, before a body is read and after the path and method are known to exist."""

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from frontend.access.caller import Caller, Identifies, bearer_token
from frontend.app_keys import (
    ADMIN,
    API_KEYS,
    CALLER,
    OPEN_KEYS,
    PATHS,
    RINGS,
    SETTINGS,
    TOKENS,
    UNAUTHENTICATED,
    WRONG_KEYS,
)
from frontend.catalogue.endpoints import ADMIN_KEY, API_KEY, MOBILE_TOKEN
from frontend.config.networks import network_of
from frontend.errors import Unauthorized
from frontend.http.connection import came_to_admin
from frontend.middleware.revocation import ended_with_key

# The part that looks up tokens of each kind.
_KNOWN_BY = {API_KEY: API_KEYS, MOBILE_TOKEN: TOKENS, ADMIN_KEY: ADMIN}


def address_of(request: web.Request) -> str:
    """The address of the caller, or of the nearest untrusted proxy; empty over a Unix socket."""
    forwarded = request.headers.getall(hdrs.X_FORWARDED_FOR, [])
    return request.app[SETTINGS].proxies.caller(request.remote or "", forwarded)


@web.middleware
async def auth_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Require a token that the path's registry knows, unless the path is open.

    Requests without one take turns, so that however many come, callers wait little for the event loop. Probes that come
    to a port of their own do not wait for those turns: a probe that waits long ends this process.
    """
    auth = request.app[PATHS].auth_of(request.path)
    if auth is not None and request.match_info.http_exception is None:
        token = _token(request)
        request[CALLER] = await _identify(request, _KNOWN_BY[auth], token)
        if auth == API_KEY:
            async with ended_with_key(request, request.app[OPEN_KEYS], token):
                return await handler(request)
    elif not came_to_admin(request):
        await request.app[UNAUTHENTICATED].turn()
    return await handler(request)


def _token(request: web.Request) -> str:
    for ring in request.app[RINGS]:
        if (key_of := ring.keys.get(request.path)) is not None:
            return key_of(request.headers)
    return bearer_token(request.headers.getall(hdrs.AUTHORIZATION, []))


async def _identify(request: web.Request, part: web.AppKey[Identifies], token: str) -> Caller:
    try:
        return await request.app[part].identify(token)
    except Unauthorized:
        # Only refusals are delayed or replaced. A valid key from the same address is accepted.
        network = network_of(address_of(request))
        await request.app[WRONG_KEYS].pause(network)
        await request.app[UNAUTHENTICATED].turn()
        if part is ADMIN:
            request.app[WRONG_KEYS].note_guess(network)
        raise
