"""GET /metrics, for Prometheus."""

import asyncio
import time
from collections.abc import Callable

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from frontend.http.life import LIFE
from frontend.observe import exposition
from frontend.observe.metrics import DRAINING, GROUP_ACCEPTING, GROUP_LEAVING, GROUP_RESTARTS
from frontend.processes.background import forget_outcome, start_apart

# Rendering takes no more than a tenth of a processor, however many ask.
_REST = 9.0


class MetricsPage:
    """Renders in a thread, since hundreds of series take longer than the event loop may be held.

    Who asks while that goes on shares the next rendering with the others, so that nobody is told what was before.
    """

    def __init__(self, render: Callable[[], bytes] = exposition.metrics) -> None:
        self._render_all = render
        self._next: asyncio.Task[bytes] | None = None
        self._rendering = asyncio.Lock()
        self._rested_at = 0.0

    async def get(self) -> bytes:
        """Every metric as it is now, or is in a moment."""
        if self._next is None:
            self._next = start_apart(self._render())
            self._next.add_done_callback(forget_outcome)
        # Whoever hangs up must not take the answer from the others.
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
    """Every metric of this process, or of all workers, in Prometheus's text format."""
    # What is told to workers and not found out by them.
    life = request.app[LIFE]
    DRAINING.set(life.stopping)
    if life.board is not None:
        group = life.board.read()
        GROUP_ACCEPTING.set(group.accepting)
        GROUP_LEAVING.set(group.leaving)
        GROUP_RESTARTS.set(group.restarts)
    return web.Response(body=await request.app[METRICS].get(), headers={"Content-Type": CONTENT_TYPE_LATEST})


ROUTES = [web.get("/metrics", metrics)]
