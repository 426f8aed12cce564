"""Checks of query parameters. They run after the rate limit, which counts refused requests too."""

from aiohttp import web
from aiohttp.typedefs import Handler

from frontend.app_keys import PATHS
from frontend.errors import InvalidRequest
from frontend.parameters.table import check_name, refuse_unknown


@web.middleware
async def query_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Raise 400 for a repeated parameter, or one that the route does not have."""
    resource = request.match_info.route.resource
    if request.query_string and resource is not None:
        known = request.app[PATHS].queries.get(resource.canonical, ())
        for name in request.query:
            check_name(name)
            refuse_unknown([name], known)
            if len(request.query.getall(name)) > 1:
                raise InvalidRequest(f"parameter given twice: {name}", param=name)
    return await handler(request)
