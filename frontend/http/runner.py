"""The servers of the API port and the admin port, and their shutdown."""

import asyncio
from contextlib import suppress
from typing import Any

from aiohttp import StreamReader, web
from aiohttp.http import RawRequestMessage

from frontend.config.settings import Settings
from frontend.errors import InvalidRequest
from frontend.http.arrival import OF_ANOTHER_VERSION, VERSIONS
from frontend.http.connection import Connection
from frontend.http.connection_limit import ConnectionLimit
from frontend.http.rendering import refusal
from frontend.http.state import SERVER_STATE, ServerState

# Most connections to the admin port, for probes and metrics, independent of the API port.
_ADMIN_CONNECTIONS = 64
# Seconds that aiohttp waits, twice, for requests that are left at the end of the drain.
_CUT_SECONDS = 0.5
_LOOK_SECONDS = 0.02


async def _not_ready(_: web.BaseRequest) -> web.StreamResponse:
    raise web.HTTPServiceUnavailable


class _Server(web.Server):
    """Creates the connections of a port. The application's handler follows once the application has started."""

    def __init__(self, limit: ConnectionLimit, settings: Settings, *, is_admin: bool = False) -> None:
        # A disconnect must not keep a model busy.
        super().__init__(_not_ready, handler_cancellation=True)
        self._limit, self._settings, self._is_admin = limit, settings, is_admin
        # Requests that have no answer yet.
        self.requests = 0

    def __call__(self) -> Connection:
        return Connection(self, self._limit, self._settings, is_admin=self._is_admin)

    def serve(self, plain: web.Server) -> None:
        """Hand requests to an application's server."""
        handle, create = plain.request_handler, plain.request_factory

        async def counted(request: web.BaseRequest) -> web.StreamResponse:
            self.requests += 1
            try:
                return await handle(request)
            except web.HTTPExpectationFailed:
                # A path or a method that does not exist has no expectations of ours (``defer_continue``).
                return refusal(InvalidRequest("this expectation is not known here"))
            finally:
                self.requests -= 1

        def begun(
            message: RawRequestMessage, body: StreamReader, connection: web.RequestHandler, *more: Any
        ) -> web.BaseRequest:
            assert isinstance(connection, Connection)
            connection.begin(body)
            known = message.version in VERSIONS
            # An answer has the version of its request.
            request = create(message if known else message._replace(version=VERSIONS[-1]), body, connection, *more)
            request[OF_ANOTHER_VERSION] = not known
            return request

        self.request_handler, self.request_factory = counted, begun


class Runner(web.ServerRunner):
    """Runs an application on our connections, until the requests in flight or the configured time have ended.

    ``admin`` is the runner of the admin port.
    """

    def __init__(self, app: web.Application, settings: Settings) -> None:
        self.app, self.state, self._settings = app, ServerState(), settings
        self._application, self._hurried = web.AppRunner(app), asyncio.Event()
        self._api = _Server(
            ConnectionLimit(settings.connections, settings.connections_per_address, settings.proxies), settings
        )
        self._admin = _Server(ConnectionLimit(_ADMIN_CONNECTIONS), settings, is_admin=True)
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

    @property
    def requests(self) -> int:
        """Requests of the API port in hand."""
        return self._api.requests

    def hurry(self) -> None:
        """Skip all waiting."""
        self._hurried.set()

    async def pause(self, seconds: float) -> None:
        """Wait ``seconds``, or until ``hurry``."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurried.wait()

    async def cleanup(self) -> None:
        """Finish the requests in flight, then close everything else. The admin port answers until then."""
        if self.server is not None:
            for site in self.sites:
                await site.stop()
            await self._drain()
            await self.admin.cleanup()
        await super().cleanup()
        await self._application.cleanup()

    async def _drain(self) -> None:
        """Wait until no request is in flight. aiohttp's own shutdown reads no more of bodies that are under way."""
        self.state.closing = True
        loop = asyncio.get_running_loop()
        until = loop.time() + self._settings.longest_drain_seconds
        while self._api.requests and not self._hurried.is_set() and loop.time() < until:
            for leave in list(self.state.leaving):
                leave()
            self.state.leaving.clear()
            await self.pause(_LOOK_SECONDS)


async def _end_connection(request: web.Request, response: web.StreamResponse) -> None:
    """Close the connection of each answer while the process ends. aiohttp would set the header too late."""
    if request.app[SERVER_STATE].closing:
        response.headers["Connection"] = "close"
        response.force_close()
