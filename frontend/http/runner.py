"""The servers of the API port and the admin port, and their shutdown."""

import asyncio
from contextlib import suppress

from aiohttp import web

from frontend.config.settings import Settings
from frontend.http.admission import Admission
from frontend.http.arrival import with_plain_headers
from frontend.http.connection import Connection, Port, ends_connection
from frontend.http.state import SERVER_STATE, ServerState

# Most connections to the admin port, for probes and metrics, independent of the API port.
_ADMIN_CONNECTIONS = 64
# Seconds that aiohttp waits, twice, for requests that are cancelled at the end of the drain.
_CUT_SECONDS = 0.2
_LOOK_SECONDS, _MOST_LOOK_SECONDS = 0.005, 0.2  # first and longest pause of the drain


async def _not_ready(_: web.BaseRequest) -> web.StreamResponse:
    raise web.HTTPServiceUnavailable


class _Server(web.Server):
    """Creates the connections of a port. The application's handler follows once the application has started."""

    def __init__(self, port: Port, settings: Settings) -> None:
        # A disconnect must not keep a model busy.
        super().__init__(_not_ready, handler_cancellation=True)
        self._port, self._settings = port, settings

    def __call__(self) -> Connection:
        return Connection(self, self._port, self._settings)

    def serve(self, plain: web.Server) -> None:
        self.request_handler, self.request_factory = plain.request_handler, with_plain_headers(plain.request_factory)

    def close_idle(self, *, patient: bool) -> int:
        """Close idle connections; return the number of all connections."""
        for connection in self.connections:
            assert isinstance(connection, Connection)
            connection.close_if_idle(patient=patient)
        return len(self.connections)


class Runner(web.ServerRunner):
    """Runs an application on our connections, until the requests in flight or the configured time have ended.

    ``admin`` is the runner of the admin port.
    """

    def __init__(self, app: web.Application, settings: Settings) -> None:
        self.app, self.state, self._settings = app, ServerState(), settings
        self._application, self._hurried = web.AppRunner(app), asyncio.Event()
        admission = Admission(settings.connections, settings.connections_per_address, settings.proxies)
        self._api = _Server(Port(self.state, admission), settings)
        self._admin = _Server(Port(self.state, Admission(_ADMIN_CONNECTIONS), is_admin=True), settings)
        super().__init__(self._api, shutdown_timeout=_CUT_SECONDS)
        self.admin = web.ServerRunner(self._admin, shutdown_timeout=_CUT_SECONDS)
        app[SERVER_STATE] = self.state
        app.on_response_prepare.append(_end_connection)

    async def setup(self) -> None:
        """Start the application, so that sites may open."""
        await self._application.setup()
        assert self._application.server is not None
        for server in (self._api, self._admin):
            server.serve(self._application.server)
        await self.admin.setup()
        await super().setup()

    def hurry(self) -> None:
        """Skip all waiting."""
        self._hurried.set()

    async def pause(self, seconds: float) -> None:
        """Wait ``seconds``, or until ``hurry``."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurried.wait()

    async def refuse(self) -> None:
        """Stop accepting API connections, except those that the kernel has already accepted."""
        await asyncio.sleep(0)
        for site in self.sites:
            await site.stop()

    async def cleanup(self) -> None:
        """Finish the requests in flight, then close everything else. The admin port answers until then."""
        if self.server is not None:
            await self.refuse()
            await self._drain()
            await self.admin.cleanup()
        await super().cleanup()
        await self._application.cleanup()

    async def _drain(self) -> None:
        """Wait until all answers are sent, and close idle connections."""
        self.state.closing = True
        loop, pause = asyncio.get_running_loop(), _LOOK_SECONDS
        began = loop.time()
        while not self._hurried.is_set() and (spent := loop.time() - began) < self._settings.longest_drain_seconds:
            if not self._api.close_idle(patient=spent < self._settings.header_seconds):
                return
            await self.pause(pause)
            pause = min(_MOST_LOOK_SECONDS, 2 * pause)


async def _end_connection(request: web.Request, response: web.StreamResponse) -> None:
    """Set ``Connection: close`` on the last answer. aiohttp would set it too late."""
    if ends_connection(request):
        response.headers["Connection"] = "close"
        response.force_close()
