"""Every response carries ``X-Request-Id``: the caller's own where it is well formed, else a new one."""

import re
import time
import uuid

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.http.connection import has_hung_up
from frontend.http.rendering import SERVER
from frontend.observe.logs import log, request_id
from frontend.observe.metrics import REQUEST_SECONDS

HEADER = "X-Request-Id"
# What other middlewares want on the answer, whatever it will be.
HEADERS = web.RequestKey("headers", dict[str, str])
_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,128}")
# What the log and the metrics call a request whose caller left, as nginx does, and one that the service broke off.
_HUNG_UP = 499
_BROKEN_OFF = 500


@web.middleware
async def request_id_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Outermost: names the request, and writes its access line when it has ended, answered or not."""
    given = request.headers.get(HEADER, "")
    name = given if _WELL_FORMED.fullmatch(given) else uuid.uuid4().hex
    request_id.set(name)
    request[HEADERS] = {HEADER: name}
    started = time.monotonic()
    response = None
    try:
        response = await handler(request)
        return response
    finally:
        _note(request, _status(request, response), time.monotonic() - started)


def _status(request: web.Request, response: web.StreamResponse | None) -> int:
    """That of the answer, or what it came to where the caller did not get one."""
    if response is not None and (response.prepared or not has_hung_up(request)):
        return response.status
    return _HUNG_UP if has_hung_up(request) else _BROKEN_OFF


def _note(request: web.Request, status: int, seconds: float) -> None:
    resource = request.match_info.route.resource
    # Paths and methods that do not exist are the client's own words: as labels they would grow without bound.
    labels = (request.method, resource.canonical) if resource is not None else ("other", "other")
    REQUEST_SECONDS.labels(*labels, status).observe(seconds)
    # A key may be named in a path by all of it, which is not for the log.
    path = request.path if resource is None else resource.canonical
    fields = {"method": request.method, "path": path, "status": status, "seconds": round(seconds, 4)}
    log.info("request", extra={"fields": fields})


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Before an answer's first byte goes out, a streamed one's too."""
    response.headers.update(request.get(HEADERS, {}))
    response.headers["Server"] = SERVER
