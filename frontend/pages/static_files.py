"""Pages from files. A page loads nothing from other servers."""

import re
from collections.abc import Mapping
from html import escape
from http import HTTPStatus
from pathlib import Path

from aiohttp import web

from frontend.app_keys import EXPORTS, SETTINGS
from frontend.catalogue.version import VERSION
from frontend.errors import NotFound
from frontend.http.connection import came_to_admin
from frontend.middleware.ports import is_answered
from frontend.pages.fixed import Fixed, answer_once

STATIC = Path(__file__).parent / "static"
_SHARED = STATIC / "shared"
# Shared parts of pages. A comment in a page marks the place of each.
_HEAD, _HEADER, _SIGN_IN, _DEMO, _FOOTER = (
    (_SHARED / f"{name}.html").read_text(encoding="utf-8").rstrip()
    for name in ("head", "header", "sign_in", "demo", "footer")
)
# Where a page has a title with a sign-in: the words of the title, of the field and of the note below it.
_SIGN_IN_PLACE = re.compile(r"<!-- sign-in: (?P<title>.+?) \| (?P<key>.+?) \| (?P<note>.+?) -->", re.DOTALL)
_SITE = re.compile(r'<header class="site">.*?</header>', re.DOTALL)
_KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_HTML = {"Content-Type": "text/html; charset=utf-8"}
_LINK = re.compile(r'\n *<a [^>]*href="([^"]*)".*</a>')


def policy(*, media: str = "'none'", microphone: str = "") -> dict[str, str]:
    """Headers that allow a page only its own scripts, requests to this server, and the named media and devices."""
    rules = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self'",
        "media-src": media,
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in rules.items()),
        "Permissions-Policy": f"camera=(), geolocation=(), microphone=({microphone})",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
    }


POLICY = policy()


def read_page(file: Path, path: str) -> str:
    """The text of the page at ``path``, with the shared parts. The header marks its link to this page as current."""
    header = _HEADER.replace(f'<a href="{path}">', f'<a href="{path}" aria-current="page">')
    page = file.read_text(encoding="utf-8")
    for name, text in (("head", _HEAD), ("header", header)):
        page = page.replace(f"<!-- {name} -->", text)
    page = _SIGN_IN_PLACE.sub(lambda place: _SIGN_IN.format(**place.groupdict()), page)
    page = page.replace("  </body>", f"    {_FOOTER.replace('<!-- version -->', VERSION)}\n  </body>")
    # The target of the link that skips the header.
    return page.replace("<main", '<main id="main" tabindex="-1"', 1)


def page_response(
    request: web.Request, text: str, headers: Mapping[str, str] = POLICY, status: int = HTTPStatus.OK
) -> web.Response:
    """Answer with a page. Its header links only paths that this port answers, its footer the manual.

    A demo's models are named as such where a page has a place for it.
    """

    def make() -> Fixed:
        paths = {resource.canonical for resource in request.app.router.resources()}

        def link(match: re.Match[str]) -> str:
            return match[0] if match[1] in paths and is_answered(request, match[1]) else ""

        own = _SITE.sub(lambda header: _LINK.sub(link, header[0]), text, count=1)
        own = own.replace("<!-- manual -->", _manual(request.app[SETTINGS].manual))
        is_demo = any(export.source == "demo" for export in request.app[EXPORTS].values())
        own = own.replace("<!-- demo -->", _DEMO if is_demo else "")
        return Fixed.of(own.encode(), {**headers, **_HTML}, status)

    return answer_once(request, (text, came_to_admin(request)), make)


def _manual(address: str) -> str:
    """A link to the manual of this version, if there is one."""
    return f' · <a href="{escape(address.rstrip("/"))}/{VERSION}/index.html">Manual</a>' if address else ""


def file_routes(path: str, folder: Path, headers: Mapping[str, str] = POLICY) -> list[web.RouteDef]:
    """Serve the scripts, style sheets and pictures of a folder below ``path``."""
    files = {
        file.name: Fixed.of(file.read_bytes(), {**headers, "Content-Type": _KINDS[file.suffix]})
        for file in folder.iterdir()
        if file.suffix in _KINDS
    }

    async def show(request: web.Request) -> web.Response:
        file = files.get(request.match_info["name"])
        if file is None:
            raise NotFound("there is no such path")
        return file.answer(request)

    return [web.get(f"{path}/{{name}}", show)]


def page_route(path: str, file: Path, headers: Mapping[str, str] = POLICY) -> web.RouteDef:
    """Serve the page of a file at ``path``."""
    text = read_page(file, path)

    async def show(request: web.Request) -> web.Response:
        return page_response(request, text, headers)

    return web.get(path, show)


def page_routes(name: str, headers: Mapping[str, str] = POLICY) -> list[web.RouteDef]:
    """Serve the page in the folder ``name`` at that path, and its other files below."""
    path, folder = f"/{name}", STATIC / name
    return [page_route(path, folder / "index.html", headers), *file_routes(path, folder, headers)]
