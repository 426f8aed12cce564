"""GET /: what there is to see here."""

from frontend.pages.static_files import STATIC, page_routes, policy

ROUTES = page_routes("/", STATIC / "home.html", {}, policy(images="'self' data:"))
