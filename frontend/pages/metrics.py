"""GET /metrics, for Prometheus."""

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest


async def metrics(request: web.Request) -> web.Response:
    """Every metric of this process in Prometheus's text format."""
    return web.Response(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})


ROUTES = [web.get("/metrics", metrics)]
