"""What people see in a browser at a path that is not there; programs get the error that the API has."""

from http import HTTPStatus

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.errors import NotFound
from frontend.pages.static_files import STATIC, page_response, policy, read_page

_PROGRAMS = ("/v1/", "/api/", "/admin/", "/dashboard/data/", "/health/")
_PAGE = read_page(STATIC / "missing" / "index.html", "")
_REASONS = {"/keys": "Keys are administered here once an admin key is set (QUARTET_ADMIN_KEY)."}
_POLICY = policy()


@web.middleware
async def missing_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """A page for a path that is not there, where a browser asks for one."""
    try:
        return await handler(request)
    except (web.HTTPNotFound, NotFound):
        if not _wants_page(request):
            raise
        text = _PAGE.replace("<!-- reason -->", _REASONS.get(request.path, "The address may be misspelt."))
        return page_response(request, text, _POLICY, HTTPStatus.NOT_FOUND)


def _wants_page(request: web.Request) -> bool:
    accepts = "text/html" in request.headers.get("Accept", "")
    return accepts and request.method in ("GET", "HEAD") and not request.path.startswith(_PROGRAMS)
