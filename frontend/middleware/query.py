"""Checks of query parameters. They run after the rate limit, which counts refused requests too."""

from collections.abc import Collection, Mapping

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from frontend.errors import InvalidRequest
from frontend.parameters.table import check_name, refuse_unknown


def query_middleware(known: Mapping[str, Collection[str]]) -> Middleware:
    """Raise 400 for a repeated parameter, or one that ``known`` does not list for the route."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        resource = request.match_info.route.resource
        if request.query_string and resource is not None:
            for name in request.query:
                check_name(name)
                refuse_unknown([name], known.get(resource.canonical, ()))
                if len(request.query.getall(name)) > 1:
                    raise InvalidRequest(f"parameter given twice: {name}", param=name)
        return await handler(request)

    return middleware
