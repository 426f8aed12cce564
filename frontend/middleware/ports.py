"""What is answered on which port, where health, metrics and the administration have one of their own."""

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.app_keys import SETTINGS
from frontend.errors import NotFound
from frontend.http.connection import came_to_admin

_ON_BOTH = ("/health/live", "/shared/")
_ON_ADMIN = ("/health/", "/metrics", "/admin/", "/keys")


def is_answered(request: web.Request, path: str) -> bool:
    """Whether a path belongs to the port that the request came over; without an admin port, there is one for all."""
    if not request.app[SETTINGS].admin_port or path.startswith(_ON_BOTH):
        return True
    return path.startswith(_ON_ADMIN) == came_to_admin(request)


@web.middleware
async def ports_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """404 for what the other port answers."""
    if not is_answered(request, request.path):
        raise NotFound("there is no such path")
    return await handler(request)
