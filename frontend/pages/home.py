"""GET /: what there is to see here."""

import re

from aiohttp import web

from frontend.app_keys import SETTINGS
from frontend.pages.static_files import STATIC, policy

_PAGE = (STATIC / "home.html").read_text(encoding="utf-8")
# What an admin port answers in this one's place.
_PRIVATE = re.compile(r'\n *<section aria-labelledby="watch">.*?</section>', re.DOTALL)
_HEADERS = policy(images="'self' data:")


async def home(request: web.Request) -> web.Response:
    """A page of links that lead somewhere on this port."""
    text = _PRIVATE.sub("", _PAGE) if request.app[SETTINGS].admin_port else _PAGE
    return web.Response(text=text, content_type="text/html", headers=_HEADERS)


ROUTES = [web.get("/", home)]
