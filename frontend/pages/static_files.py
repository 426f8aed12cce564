"""Pages that are served from files, with all they need and nothing from the internet."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path

from aiohttp import web

from frontend.errors import NotFound
from frontend.middleware.ports import is_answered

STATIC = Path(__file__).parent / "static"
_SHARED = STATIC / "shared"
# What a page has where a comment names it.
_HEAD, _HEADER, _SIGN_IN = (
    (_SHARED / f"{name}.html").read_text(encoding="utf-8").rstrip() for name in ("head", "header", "sign_in")
)
_SITE = re.compile(r'<header class="site">.*?</header>', re.DOTALL)
_LINK = re.compile(r'\n *<a [^>]*href="([^"]*)".*</a>')


def policy(*, media: str = "'none'", microphone: str = "") -> dict[str, str]:
    """Headers under which a page runs only scripts of its own, talks to nobody else and leaves devices alone."""
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


def read_page(file: Path, path: str) -> str:
    """A page's text for ``path``, with what pages share; the header's link to this one says so."""
    header = _HEADER.replace(f'<a href="{path}">', f'<a href="{path}" aria-current="page">')
    page = file.read_text(encoding="utf-8")
    for name, text in (("head", _HEAD), ("header", header), ("sign-in", _SIGN_IN)):
        page = page.replace(f"<!-- {name} -->", text)
    # Where the link that skips the header leads to.
    return page.replace("<main", '<main id="main" tabindex="-1"', 1)


def page_response(
    request: web.Request, text: str, headers: Mapping[str, str], status: int = HTTPStatus.OK
) -> web.Response:
    """A page whose header leads to what there is, and is answered on this port."""
    paths = {resource.canonical for resource in request.app.router.resources()}

    def link(found: re.Match[str]) -> str:
        return found[0] if found[1] in paths and is_answered(request, found[1]) else ""

    own = _SITE.sub(lambda header: _LINK.sub(link, header[0]), text, count=1)
    return web.Response(text=own, status=status, content_type="text/html", headers=headers)


def parts_of(folder: Path) -> dict[str, Path]:
    """The scripts, style sheets and pictures of a folder, by name."""
    return {path.name: path for path in folder.iterdir() if path.suffix in (".js", ".css", ".svg")}


def part_routes(path: str, parts: Mapping[str, Path], headers: Mapping[str, str]) -> list[web.RouteDef]:
    """``parts`` below ``path``, by name."""

    async def part(request: web.Request) -> web.FileResponse:
        file = parts.get(request.match_info["name"])
        if file is None:
            raise NotFound("there is no such path")
        return web.FileResponse(file, headers=headers)

    return [web.get(f"{path}/{{name}}", part)]


def page_route(path: str, page: Path, headers: Mapping[str, str]) -> web.RouteDef:
    """``page`` at ``path``."""
    text = read_page(page, path)

    async def whole(request: web.Request) -> web.Response:
        return page_response(request, text, headers)

    return web.get(path, whole)


def page_routes(name: str, headers: Mapping[str, str]) -> list[web.RouteDef]:
    """The page in the folder ``name`` at the path of that name, and its own scripts and style sheets below that."""
    path, folder = f"/{name}", STATIC / name
    return [page_route(path, folder / "index.html", headers), *part_routes(path, parts_of(folder), headers)]


# What all pages have in common.
ROUTES = part_routes("/shared", parts_of(_SHARED), policy())
