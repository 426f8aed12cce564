"""Every response carries ``X-Request-Id``: the caller's own where it is well formed, else a new one."""

import re
import time
import uuid

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.observe import REQUEST_SECONDS, SERVER, log, request_id

HEADER = "X-Request-Id"
# What other middlewares want on the answer, whatever it will be.
HEADERS = web.RequestKey("headers", dict[str, str])
_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,128}")


@web.middleware
async def request_id_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Outermost: names the request, and writes its access line when it is answered."""
    given = request.headers.get(HEADER, "")
    name = given if _WELL_FORMED.fullmatch(given) else uuid.uuid4().hex
    request_id.set(name)
    request[HEADERS] = {HEADER: name}
    started = time.monotonic()
    response = await handler(request)
    seconds = time.monotonic() - started
    resource = request.match_info.route.resource
    # Paths and methods that do not exist are the client's own words: as labels they would grow without bound.
    labels = (request.method, resource.canonical) if resource is not None else ("other", "other")
    REQUEST_SECONDS.labels(*labels, response.status).observe(seconds)
    fields = {"method": request.method, "path": request.path, "status": response.status, "seconds": round(seconds, 4)}
    log.info("request", extra={"fields": fields})
    return response


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Before an answer's first byte goes out, a streamed one's too."""
    response.headers.update(request.get(HEADERS, {}))
    response.headers["Server"] = SERVER
