"""CORS: the pages of other origins that may call the API."""

import re
from collections.abc import Mapping

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from frontend.app_keys import HEADERS, SETTINGS
from frontend.http.origins import allowed, is_open, readable

# Seconds for which a browser caches a preflight answer.
_KEPT_SECONDS = 600
_HEADER_NAMES = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~, \t-]{1,4096}")
_USUAL_NAMES = "Authorization, Content-Type"


@web.middleware
async def cors_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer preflight requests, and let pages read answers.

    The page sets the key's header itself and no browser adds it, so any origin is safe if the settings allow it.
    """
    origins, origin = request.app[SETTINGS].allowed_origins, request.headers.get(hdrs.ORIGIN, "")
    exists = not isinstance(request.match_info.http_exception, web.HTTPNotFound)
    asks = request.method == hdrs.METH_OPTIONS and hdrs.ACCESS_CONTROL_REQUEST_METHOD in request.headers
    if asks and is_open(origins, request.path, exists=exists) and (granted := allowed(origins, origin)):
        return web.Response(status=204, headers={**granted, **_may_send(request.headers)})
    request[HEADERS].update(readable(origins, request.path, origin, exists=exists))
    return await handler(request)


def _may_send(headers: Mapping[str, str]) -> dict[str, str]:
    """Allow all requested headers: clients send some of their own."""
    names = headers.get(hdrs.ACCESS_CONTROL_REQUEST_HEADERS, "")
    return {
        hdrs.ACCESS_CONTROL_ALLOW_METHODS: "GET, POST",
        hdrs.ACCESS_CONTROL_ALLOW_HEADERS: names if _HEADER_NAMES.fullmatch(names) else _USUAL_NAMES,
        hdrs.ACCESS_CONTROL_MAX_AGE: str(_KEPT_SECONDS),
    }
