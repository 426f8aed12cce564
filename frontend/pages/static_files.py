"""Pages that are served from files, with all they need and nothing from the internet."""

from collections.abc import Mapping
from pathlib import Path

from aiohttp import web

from frontend.errors import NotFound

STATIC = Path(__file__).parent / "static"


def policy(*, styles: str = "'self'", images: str = "'self'") -> dict[str, str]:
    """Headers under which a page runs only scripts of its own and talks to nobody else."""
    rules = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": styles,
        "img-src": images,
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in rules.items()),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
    }


def page_routes(path: str, page: Path, parts: Mapping[str, Path], headers: Mapping[str, str]) -> list[web.RouteDef]:
    """``page`` at ``path``, and its scripts and style sheets below that, by name."""

    async def whole(request: web.Request) -> web.FileResponse:
        return web.FileResponse(page, headers=headers)

    async def part(request: web.Request) -> web.FileResponse:
        file = parts.get(request.match_info["name"])
        if file is None:
            raise NotFound("there is no such path")
        return web.FileResponse(file, headers=headers)

    return [web.get(path, whole), *([web.get(f"{path}/{{name}}", part)] if parts else [])]
