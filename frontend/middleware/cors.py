"""Which pages of other origins a browser lets call, where the settings name some: CORS."""

import re
from collections.abc import Collection, Mapping

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from frontend.app_keys import SETTINGS
from frontend.middleware.request_id import HEADERS

_ANY = "*"
_CALLED = ("/v1/", "/api/v1/")
_READABLE = "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After"
# A browser asks again after so many seconds, by when an origin may have been taken from the settings.
_KEPT_SECONDS = 600
_HEADER_NAMES = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~, \t-]{1,4096}")
_USUAL_NAMES = "Authorization, Content-Type"


@web.middleware
async def cors_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answers the question that a browser asks before a page's call, and lets the page read the call's answer.

    The administration and the dashboard stay closed to all other pages. A key is in a header that the page itself sets,
    never in what a browser adds by itself, so it may be any page where the settings say so.
    """
    origins = request.app[SETTINGS].allowed_origins
    if not origins or not request.path.startswith(_CALLED):
        return await handler(request)
    allowed = _allowed(origins, request.headers.get(hdrs.ORIGIN, ""))
    if allowed and request.method == hdrs.METH_OPTIONS and hdrs.ACCESS_CONTROL_REQUEST_METHOD in request.headers:
        return web.Response(status=204, headers={**allowed, **_may_send(request.headers)})
    request[HEADERS].update(allowed | {hdrs.ACCESS_CONTROL_EXPOSE_HEADERS: _READABLE} if allowed else {})
    if _ANY not in origins:
        # A cache must not give one page what was answered to another.
        request[HEADERS][hdrs.VARY] = hdrs.ORIGIN
    return await handler(request)


def _allowed(origins: Collection[str], origin: str) -> dict[str, str]:
    if origin and _ANY in origins:
        return {hdrs.ACCESS_CONTROL_ALLOW_ORIGIN: _ANY}
    return {hdrs.ACCESS_CONTROL_ALLOW_ORIGIN: origin, hdrs.VARY: hdrs.ORIGIN} if origin in origins else {}


def _may_send(headers: Mapping[str, str]) -> dict[str, str]:
    """Whatever headers a page wants to send: clients have some of their own."""
    names = headers.get(hdrs.ACCESS_CONTROL_REQUEST_HEADERS, "")
    return {
        hdrs.ACCESS_CONTROL_ALLOW_METHODS: "GET, POST",
        hdrs.ACCESS_CONTROL_ALLOW_HEADERS: names if _HEADER_NAMES.fullmatch(names) else _USUAL_NAMES,
        hdrs.ACCESS_CONTROL_MAX_AGE: str(_KEPT_SECONDS),
    }
