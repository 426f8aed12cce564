"""What is answered on which port, where health, metrics and the administration have one of their own."""

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.app_keys import SETTINGS
from frontend.errors import NotFound
from frontend.http.connection import came_to_admin

_ON_BOTH = "/health/live"
_ON_ADMIN = ("/health/", "/metrics", "/admin/")


@web.middleware
async def ports_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """404 for what the other port answers; without an admin port, there is one for everything."""
    on_admin = request.path.startswith(_ON_ADMIN)
    if request.app[SETTINGS].admin_port and request.path != _ON_BOTH and on_admin != came_to_admin(request):
        raise NotFound("there is no such path")
    return await handler(request)
