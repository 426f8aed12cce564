"""The HTTP server under the application: what happens before a request reaches it and after its answer."""

import asyncio
import signal
import socket
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import uvloop
from aiohttp import StreamReader, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from multidict import CIMultiDict, CIMultiDictProxy

from frontend.body import EXPECTED
from frontend.config import Settings
from frontend.errors import Internal, InvalidRequest
from frontend.observe import SERVER, log
from frontend.render import json_response

_SHUTDOWN_SECONDS = 10.0
# A caller without a key, or too slow a one, is not waited for as long as one whose file was refused.
_SHORT_LINGER = {401: 2.0, 408: 2.0}


_RequestFactory = Callable[
    [RawRequestMessage, StreamReader, web.RequestHandler, AbstractStreamWriter, "asyncio.Task[None]"], web.BaseRequest
]


class _Connection(web.RequestHandler):
    """One connection: its headers have a deadline, and whatever is no HTTP is refused in the contract's shape."""

    __slots__ = ("_header_seconds", "_linger_seconds")

    def __init__(self, manager: "_Server", *, header_seconds: float, **kwargs: Any) -> None:
        super().__init__(manager, **kwargs)
        self._header_seconds = header_seconds
        self._linger_seconds = self._lingering_time

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        # The time that an idle connection is kept would else hold for one that never sends its first headers too.
        if self._keepalive_handle is not None:
            self._keepalive_handle.cancel()
        self._next_keepalive_close_time = self._loop.time() + self._header_seconds
        self._keepalive_handle = self._loop.call_at(self._next_keepalive_close_time, self._process_keepalive)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        # What is left of a refused body is read and thrown away, else the client could not read the refusal.
        self._lingering_time = _SHORT_LINGER.get(resp.status, self._linger_seconds)
        return await super().finish_response(request, resp, start_time)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Bytes that are no HTTP request, or a fault outside of the middlewares."""
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun already")
        failure = InvalidRequest("the request is not valid HTTP") if status < 500 else Internal("an internal error")
        if status >= 500:
            log.error("unforeseen error", exc_info=exc)
        headers = {"X-Request-Id": uuid.uuid4().hex, "Server": SERVER}
        answer = json_response(failure.body(), status=failure.status, headers=headers)
        answer.force_close()
        return answer


class _Server(web.Server):
    """Makes the connections; takes ``Expect`` out of the headers, so that the body's reader invites the body."""

    def __init__(
        self,
        handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        request_factory: _RequestFactory,
        **kwargs: Any,
    ) -> None:
        super().__init__(handler, request_factory=self._without_expect, **kwargs)
        self._inner_factory = request_factory

    def _without_expect(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:
        expected = message.headers.get(hdrs.EXPECT, "").lower() == "100-continue"
        if hdrs.EXPECT in message.headers:
            headers = CIMultiDict(message.headers)
            del headers[hdrs.EXPECT]
            message = message._replace(headers=CIMultiDictProxy(headers))
        request = self._inner_factory(message, payload, protocol, writer, task)
        request[EXPECTED] = expected
        return request

    def __call__(self) -> _Connection:
        return _Connection(self, loop=self._loop, **self._kwargs)


class Runner(web.AppRunner):
    """aiohttp's runner with our connections."""

    def __init__(self, app: web.Application, settings: Settings, **kwargs: Any) -> None:
        super().__init__(
            app,
            access_log=None,
            # A caller who hangs up must not keep a model busy.
            handler_cancellation=True,
            shutdown_timeout=_SHUTDOWN_SECONDS,
            keepalive_timeout=settings.keepalive_seconds,
            header_seconds=settings.header_seconds,
            lingering_time=settings.body_seconds,
            # A compressed body is refused by its header; it must not be unpacked before that.
            auto_decompress=False,
            **kwargs,
        )

    async def _make_server(self) -> _Server:
        plain = await super()._make_server()
        return _Server(
            plain.request_handler,
            plain.request_factory,
            handler_cancellation=plain.handler_cancellation,
            loop=plain._loop,
            **plain._kwargs,
        )


@dataclass(frozen=True)
class Inherited:
    """What a worker has from its parent: the socket that all workers accept from, and a pipe that ends with it."""

    listening: socket.socket
    alive: int


async def _run(app: web.Application, settings: Settings, inherited: Inherited | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    runner = Runner(app, settings)
    try:
        await runner.setup()
        if inherited is None:
            await web.TCPSite(runner, settings.host, settings.port).start()
        else:
            loop.add_reader(inherited.alive, stop.set)
            await web.SockSite(runner, inherited.listening).start()
        await stop.wait()
    finally:
        await runner.cleanup()


def serve(app: web.Application, settings: Settings, inherited: Inherited | None = None) -> None:
    """Answer requests until SIGINT or SIGTERM; requests under way have ten seconds to end."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        loop.run(_run(app, settings, inherited))
