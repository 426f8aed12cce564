"""GET /keys: the administration in a browser, all of it over /admin/v1."""

from frontend.pages.static_files import STATIC, page_routes, parts_of, policy

_FOLDER = STATIC / "keys"

ROUTES = page_routes("/keys", _FOLDER / "index.html", parts_of(_FOLDER), policy())
