"""Headers of every answer."""

from aiohttp import hdrs, web

from frontend.app_keys import HEADERS
from frontend.http.rendering import SERVER

_RESET = "X-RateLimit-Reset"


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Add the headers before the first byte of any answer, streamed ones included."""
    headers = response.headers
    headers.update(request.get(HEADERS, {}))
    if _RESET in headers and hdrs.RETRY_AFTER in headers:
        # Of the two, clients take the longer wait.
        headers[_RESET] = str(min(int(headers[_RESET]), int(headers[hdrs.RETRY_AFTER])))
    headers["Server"] = SERVER
