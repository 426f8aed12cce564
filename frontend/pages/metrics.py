"""GET /metrics, for Prometheus."""

import asyncio
import time
from collections.abc import Callable

from aiohttp import web

from frontend.http.state import SERVER_STATE
from frontend.observe import exposition
from frontend.observe.exposition import Format
from frontend.observe.metrics import DRAINING, GROUP_ACCEPTING, GROUP_LEAVING, GROUP_RESTARTS
from frontend.processes.background import forget_outcome, start_apart

# Pause after a rendering, in multiples of its time: rendering takes at most a tenth of a processor.
_REST = 9.0
# Media types that select the text format.
_TEXT_KINDS = ("text/plain", "text/*", "*/*")


class MetricsPage:
    """Renders in a thread, since hundreds of series would block the event loop.

    Requests during a rendering share the next one of their format, so that no answer is older than its request.
    """

    def __init__(self, render: Callable[[Format], bytes] = exposition.metrics) -> None:
        self._render_all = render
        self._next: dict[Format, asyncio.Task[bytes]] = {}
        self._rendering = asyncio.Lock()
        self._rested_at = 0.0

    async def get(self, form: Format) -> bytes:
        """Every metric, in the next rendering."""
        if form not in self._next:
            self._next[form] = start_apart(self._render(form))
            self._next[form].add_done_callback(forget_outcome)
        # A disconnect must not cancel the rendering for the other requests.
        return await asyncio.shield(self._next[form])

    async def _render(self, form: Format) -> bytes:
        async with self._rendering:
            await asyncio.sleep(self._rested_at - time.monotonic())
            del self._next[form]
            started = time.monotonic()
            try:
                return await asyncio.to_thread(self._render_all, form)
            finally:
                ended = time.monotonic()
                self._rested_at = ended + _REST * (ended - started)


METRICS = web.AppKey("metrics", MetricsPage)


def format_of(accept: str) -> Format:
    """The format that an ``Accept`` header prefers; the text format if none matches."""
    best, most = exposition.TEXT, 0.0
    for part in accept.lower().split(","):
        kind, *pairs = (each.strip() for each in part.split(";"))
        parameters = dict(pair.partition("=")[::2] for pair in pairs)
        # Prometheus names versions that there were before the first one, too.
        known = kind == "application/openmetrics-text" and parameters.get("version", "1.0.0") == "1.0.0"
        form = exposition.OPENMETRICS if known else exposition.TEXT if kind in _TEXT_KINDS else None
        if form is not None and (quality := _quality(parameters.get("q", "1"))) > most:
            best, most = form, quality
    return best


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


async def metrics(request: web.Request) -> web.Response:
    """Every metric of this process, or of all workers, in Prometheus's text format or as OpenMetrics."""
    # Values that the parent reports to workers.
    state = request.app[SERVER_STATE]
    DRAINING.set(state.stopping)
    if state.workers is not None:
        counts = state.workers.read()
        GROUP_ACCEPTING.set(counts.accepting)
        GROUP_LEAVING.set(counts.leaving)
        GROUP_RESTARTS.set(counts.restarts)
    form = format_of(",".join(request.headers.getall("Accept", [])))
    return web.Response(body=await request.app[METRICS].get(form), headers={"Content-Type": form.content_type})


ROUTES = [web.get("/metrics", metrics)]
