"""GET /docs: Swagger UI over /openapi.json, with nothing from the internet."""

from importlib.metadata import distribution
from pathlib import Path

from frontend.pages.static_files import STATIC, page_routes, policy

# Found without an import: the package around the files is made for Django.
_SIDECAR = Path(str(distribution("drf-spectacular-sidecar").locate_file("drf_spectacular_sidecar")))
_SWAGGER_UI = _SIDECAR / "static" / "drf_spectacular_sidecar" / "swagger-ui-dist"
_PARTS = {
    "docs.js": STATIC / "docs.js",
    "swagger-ui.css": _SWAGGER_UI / "swagger-ui.css",
    "swagger-ui-bundle.js": _SWAGGER_UI / "swagger-ui-bundle.js",
}
# Swagger UI styles its elements in place and draws its icons from data addresses.
_HEADERS = policy(styles="'self' 'unsafe-inline'", images="'self' data:")

ROUTES = page_routes("/docs", STATIC / "docs.html", _PARTS, _HEADERS)
