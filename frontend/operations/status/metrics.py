"""GET /metrics, for Prometheus."""

import asyncio
import os
import time
from collections.abc import Callable

from aiohttp import web
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.multiprocess import MultiProcessCollector

from frontend.concurrency.background import forget_outcome, start_detached
from frontend.http.state import SERVER_STATE
from frontend.observe import METRICS_FOLDER
from frontend.observe.metrics import DRAINING

# Pause after a rendering, in multiples of its time: rendering takes at most a tenth of a processor.
_REST = 9.0


def render_metrics() -> bytes:
    """Every metric of this process, or of all workers, in Prometheus's text format."""
    if METRICS_FOLDER not in os.environ:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


class MetricsPage:
    """Renders in a thread, since hundreds of series would block the event loop.

    Requests during a rendering share the next one, so that no answer is older than its request.
    """

    def __init__(self, render: Callable[[], bytes] = render_metrics) -> None:
        self._render_all = render
        self._next: asyncio.Task[bytes] | None = None
        self._rendering = asyncio.Lock()
        self._rested_at = 0.0

    async def get(self) -> bytes:
        """Every metric, in the next rendering."""
        if self._next is None:
            self._next = start_detached(self._render())
            self._next.add_done_callback(forget_outcome)
        # A disconnect must not cancel the rendering for the other requests.
        return await asyncio.shield(self._next)

    async def _render(self) -> bytes:
        async with self._rendering:
            await asyncio.sleep(self._rested_at - time.monotonic())
            self._next = None
            started = time.monotonic()
            try:
                return await asyncio.to_thread(self._render_all)
            finally:
                ended = time.monotonic()
                self._rested_at = ended + _REST * (ended - started)


METRICS = web.AppKey("metrics", MetricsPage)


async def metrics(request: web.Request) -> web.Response:
    """Every metric of this process, or of all workers."""
    DRAINING.set(request.app[SERVER_STATE].closing)
    return web.Response(body=await request.app[METRICS].get(), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})


ROUTES = [web.get("/metrics", metrics)]
