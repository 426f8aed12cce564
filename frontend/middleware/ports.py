"""The paths that each port answers, if health, metrics and administration have their own port."""

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.app_keys import PATHS, SETTINGS
from frontend.errors import NotFound
from frontend.http.connection import came_to_admin


def is_answered(request: web.Request, path: str) -> bool:
    """Whether the request's port answers the path. Without an admin port, one port answers all."""
    paths = request.app[PATHS]
    if not request.app[SETTINGS].admin_port or path.startswith(paths.on_both_ports):
        return True
    return path.startswith(paths.private) == came_to_admin(request)


@web.middleware
async def ports_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Raise 404 for paths of the other port."""
    if not is_answered(request, request.path):
        raise NotFound("there is no such path")
    return await handler(request)
