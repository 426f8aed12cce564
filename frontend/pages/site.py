"""The start page, the playground, the page of keys, their shared files, and the page for unknown paths."""

import re
from http import HTTPStatus

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.app_keys import SETTINGS
from frontend.errors import NotFound
from frontend.pages.fixed import Fixed
from frontend.pages.static_files import POLICY, STATIC, file_routes, page_response, page_routes, policy, read_page

_HOME = read_page(STATIC / "home" / "index.html", "/")
# The links of the start page that only an admin port answers.
_PRIVATE = re.compile(r'\n *<section class="card" aria-labelledby="watch">.*?</section>', re.DOTALL)
_HOME_OF_CALLERS = _PRIVATE.sub("", _HOME)
_MISSING = read_page(STATIC / "missing" / "index.html", "")
_REASONS = {"/keys": "Keys are administered here once an admin key is set (QUARTET_ADMIN_KEY)."}
# Browsers ask for it beside answers that are no pages.
_ICON = Fixed.of((STATIC / "shared" / "icon.svg").read_bytes(), {**POLICY, "Content-Type": "image/svg+xml"})
# Paths that browsers open only by mistake.
_PROGRAMS = ("/v1/", "/api/", "/admin/", "/dashboard/data/", "/health/")


async def home(request: web.Request) -> web.Response:
    return page_response(request, _HOME_OF_CALLERS if request.app[SETTINGS].admin_port else _HOME)


async def icon(request: web.Request) -> web.Response:
    return _ICON.answer(request)


@web.middleware
async def missing_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Show browsers a page for unknown paths. Programs get the error of the API."""
    try:
        return await handler(request)
    except (web.HTTPNotFound, NotFound) as error:
        accepts = "text/html" in request.headers.get("Accept", "")
        if not accepts or request.method not in ("GET", "HEAD") or request.path.startswith(_PROGRAMS):
            raise
        # The request refers to it: without the frames, no garbage collection is needed.
        error.with_traceback(None)
        text = _MISSING.replace("<!-- reason -->", _REASONS.get(request.path, "The address may be misspelt."))
        return page_response(request, text, status=HTTPStatus.NOT_FOUND)


ROUTES = [
    web.get("/", home),
    web.get("/favicon.ico", icon),
    *file_routes("/home", STATIC / "home"),
    *file_routes("/shared", STATIC / "shared"),
    # The playground plays audio, and records it if the visitor agrees.
    *page_routes("playground", policy(media="blob:", microphone="self")),
    *page_routes("dashboard"),
]
KEYS_PAGE = page_routes("keys")
