"""The paths that each port answers, if health, metrics and administration have their own port."""

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.app_keys import SETTINGS
from frontend.errors import NotFound
from frontend.http.connection import came_to_admin

_ON_BOTH = ("/health/live", "/shared/")
_ON_ADMIN = ("/health/", "/metrics", "/admin/", "/keys")


def is_answered(request: web.Request, path: str) -> bool:
    """Whether the request's port answers the path. Without an admin port, one port answers all."""
    if not request.app[SETTINGS].admin_port or path.startswith(_ON_BOTH):
        return True
    return path.startswith(_ON_ADMIN) == came_to_admin(request)


@web.middleware
async def ports_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Raise 404 for paths of the other port."""
    if not is_answered(request, request.path):
        raise NotFound("there is no such path")
    return await handler(request)
