"""GET /docs: the OpenAPI document to read and try, with nothing from the internet."""

from importlib.metadata import distribution
from pathlib import Path

from aiohttp import web

from frontend.errors import NotFound

_OURS = Path(__file__).parent / "static"
# Found without an import: the package around the files is made for Django.
_SIDECAR = Path(str(distribution("drf-spectacular-sidecar").locate_file("drf_spectacular_sidecar")))
_SWAGGER_UI = _SIDECAR / "static" / "drf_spectacular_sidecar" / "swagger-ui-dist"
_FILES = {
    "docs.js": _OURS / "docs.js",
    "swagger-ui.css": _SWAGGER_UI / "swagger-ui.css",
    "swagger-ui-bundle.js": _SWAGGER_UI / "swagger-ui-bundle.js",
}
_HEADERS = {
    # Swagger UI styles its elements in place and draws its icons from data addresses.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


async def page(request: web.Request) -> web.FileResponse:
    """The page itself."""
    return web.FileResponse(_OURS / "docs.html", headers=_HEADERS)


async def part(request: web.Request) -> web.FileResponse:
    """A script or style sheet of the page."""
    path = _FILES.get(request.match_info["name"])
    if path is None:
        raise NotFound("there is no such path")
    return web.FileResponse(path, headers=_HEADERS)


ROUTES = [web.get("/docs", page), web.get("/docs/{name}", part)]
