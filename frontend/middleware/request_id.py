"""Every response carries ``X-Request-Id``: the caller's own where it is well formed, else a new one."""

import re
import time
import uuid

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.observe import log, request_id

HEADER = "X-Request-Id"
_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,128}")


@web.middleware
async def request_id_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Outermost: names the request, and writes its access line when it is answered."""
    given = request.headers.get(HEADER, "")
    name = given if _WELL_FORMED.fullmatch(given) else uuid.uuid4().hex
    request_id.set(name)
    started = time.monotonic()
    response = await handler(request)
    response.headers[HEADER] = name
    fields = {
        "method": request.method,
        "path": request.path,
        "status": response.status,
        "seconds": round(time.monotonic() - started, 4),
    }
    log.info("request", extra={"fields": fields})
    return response
