"""GET /: what this is, whether it is ready, what to put into a client, and where to look further."""

import re

from aiohttp import web

from frontend.app_keys import SETTINGS
from frontend.pages.static_files import STATIC, page_response, part_routes, parts_of, policy, read_page

_FOLDER = STATIC / "home"
_PAGE = read_page(_FOLDER / "index.html", "/")
# What an admin port answers in this one's place.
_PRIVATE = re.compile(r'\n *<section class="card" aria-labelledby="watch">.*?</section>', re.DOTALL)
_HEADERS = policy()


async def home(request: web.Request) -> web.Response:
    """A page whose links lead somewhere on this port."""
    text = _PRIVATE.sub("", _PAGE) if request.app[SETTINGS].admin_port else _PAGE
    return page_response(request, text, _HEADERS)


ROUTES = [web.get("/", home), *part_routes("/home", parts_of(_FOLDER), _HEADERS)]
