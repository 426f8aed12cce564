"""GET /metrics, for Prometheus."""

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from frontend import observe


async def metrics(request: web.Request) -> web.Response:
    """Every metric of this process, or of all workers, in Prometheus's text format."""
    return web.Response(body=observe.metrics(), headers={"Content-Type": CONTENT_TYPE_LATEST})


ROUTES = [web.get("/metrics", metrics)]
