"""Connections: how many there are, how long their parts may take, and how much of one is worked on at a time.

This is the one module that relies on the inside of aiohttp; ``tests/http/test_connection.py`` names the version.
"""

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, cast

from aiohttp import StreamReader, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD
from aiohttp.web_protocol import _ErrInfo
from multidict import CIMultiDict, CIMultiDictProxy

from frontend.config.settings import Settings
from frontend.errors import ApiError, BadGateway, Internal, InvalidRequest
from frontend.http.arrival import EXPECTED
from frontend.http.feeder import Feeder
from frontend.http.rendering import SERVER, json_response
from frontend.http.unparsed import LONGEST_HEAD, METHODS, stand_in
from frontend.observe.logs import log
from frontend.observe.metrics import CONNECTIONS, CONNECTIONS_REFUSED

_SHUTDOWN_SECONDS = 10.0
# Whether the caller is known: set by whoever finds that out.
KNOWN = web.RequestKey("known", bool)
# How long what is left of a refused body is thrown away, for the client to read the refusal.
_LINGER_SECONDS = 5.0
_LINGER_OF_STATUS = {401: 2.0, 408: 2.0}
# What is parsed of a connection at a time is smaller where it takes longer than that.
_PIECE_SECONDS = 0.0005
_LEAST_PIECE, _MOST_PIECE = 1024, 8 * 1024
_READ_BYTES = 32 * 1024
_PROGRESS_LOOKS = 10
_RETRY_SECONDS = 5
# A caller who writes no more so soon after the end of its request waits for the answer; later, it has hung up.
_HALF_CLOSE_SECONDS = 0.1
# The two look the same: so few of an address are believed that those who drop many requests keep nothing busy.
_HALF_CLOSED_AT_ONCE = 1

_RequestFactory = Callable[
    [RawRequestMessage, StreamReader, web.RequestHandler, AbstractStreamWriter, "asyncio.Task[None]"], web.BaseRequest
]


def has_hung_up(request: web.BaseRequest) -> bool:
    """Whether the caller has broken the connection off, and not we."""
    connection, transport = request.protocol, request.protocol.transport
    ending = isinstance(connection, Connection) and connection.ending
    return not ending and (transport is None or transport.is_closing())


def _refusal(failure: ApiError) -> web.Response:
    """An answer to what is no request: only its headers and its body are the contract's."""
    headers = {"X-Request-Id": uuid.uuid4().hex, "Server": SERVER, **failure.headers}
    answer = json_response(failure.body(), status=failure.status, headers=headers)
    answer.force_close()
    return answer


class Connection(web.RequestHandler):
    """One connection; what is no HTTP is refused in the contract's shape."""

    __slots__ = (
        "_address",
        "_answered",
        "_broken",
        "_came_at",
        "_counted",
        "_half_closed",
        "_head",
        "_last_body",
        "_looks",
        "_piece",
        "_queued",
        "_settings",
        "_unfed",
        "_wire",
        "ending",
        "fed_seconds",
    )

    def __init__(self, manager: "_Server", *, settings: Settings, **kwargs: Any) -> None:
        super().__init__(manager, **kwargs)
        self._settings = settings
        self._address = ""
        self._counted = False
        # aiohttp forgets the transport while what was written to it may still be on its way.
        self._wire: asyncio.Transport | None = None
        self._unfed = bytearray()
        self._piece = _LEAST_PIECE
        self._queued = False
        # The time that the parser has had for the request under way.
        self.fed_seconds = 0.0
        self._looks: asyncio.TimerHandle | None = None
        # What has been parsed since a request ended, and whether the parser stumbled over it.
        self._head = bytearray()
        self._broken = False
        # When something came last, whether more can come, and what of it is not answered yet.
        self._came_at = 0.0
        self._half_closed = False
        self._last_body: StreamReader | None = None
        self._answered = 0
        # Whether it is we who end the connection.
        self.ending = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert isinstance(self._manager, _Server)
        self._wire = cast(asyncio.Transport, transport)
        # Nothing is kept back in the transport, so that whoever writes waits for whoever reads.
        self._wire.set_write_buffer_limits(0)
        peer = transport.get_extra_info("peername")
        self._address = str(peer[0]) if peer else ""
        self._counted = self._manager.enter(self._address)
        if not self._counted:
            self._turn_away()
            return
        # The time that an idle connection is kept would else hold for one that never sends its first headers too.
        if self._keepalive_handle is not None:
            self._keepalive_handle.cancel()
        self._next_keepalive_close_time = self._loop.time() + self._settings.header_seconds
        self._keepalive_handle = self._loop.call_at(self._next_keepalive_close_time, self._process_keepalive)

    def connection_lost(self, exc: BaseException | None) -> None:
        manager = self._manager
        # One that was broken off before it was accepted, or came over a Unix socket, has no address and counts too.
        if self._counted and isinstance(manager, _Server):
            manager.leave(self._address, half_closed=self._half_closed)
        if self._looks is not None:
            self._looks.cancel()
        self._unfed.clear()
        self._wire = None
        super().connection_lost(exc)

    async def shutdown(self, timeout: float | None = 15.0) -> None:  # noqa: ASYNC109 - as aiohttp calls it
        self.ending = True
        await super().shutdown(timeout)

    def _turn_away(self) -> None:
        """There are too many connections: say so, and close this one without reading from it."""
        refusal = _refusal(BadGateway("there are too many connections, retry later", retry_after=_RETRY_SECONDS))
        body = refusal.body
        assert isinstance(body, bytes)
        headers = {**refusal.headers, "Content-Length": str(len(body)), "Connection": "close"}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        if self._wire is not None:
            self._wire.write(f"HTTP/1.1 502 Bad Gateway\r\n{head}\r\n".encode() + body)
        self.force_close()

    def data_received(self, data: bytes) -> None:
        """Feed the parser little by little: a read of 256 KiB may hold a thousand requests, or chunks of a byte."""
        if self._broken:
            return
        if data:
            self._came_at = self._loop.time()
            self._unfed += data
            self._feed_soon()
            if self._queued:
                self._pause_reading_for_buffer()
        else:
            # aiohttp has the parser go on with what that holds.
            super().data_received(data)

    def _feed_soon(self) -> None:
        if self._unfed and not self._queued and isinstance(self._manager, _Server):
            self._queued = True
            self._manager.feeder.add(self)

    def feed(self) -> bool:
        """Give the parser a piece of what has come; whether there is another for it."""
        if self._unfed and not self._reading_paused and self.transport is not None:
            piece = bytes(self._unfed[: self._piece])
            del self._unfed[: self._piece]
            began = time.perf_counter()
            self._parse(piece)
            fast = time.perf_counter() - began < _PIECE_SECONDS
            self._piece = min(_MOST_PIECE, 2 * self._piece) if fast else max(_LEAST_PIECE, self._piece // 2)
        if self.transport is None:
            self._unfed.clear()
        elif self._unfed:
            self._pause_reading_for_buffer()
        elif self._buffer_paused:
            self._resume_reading_if_drained()
        self._queued = bool(self._unfed) and not self._reading_paused
        if self._half_closed and not self._unfed and not self._owes_answer():
            self.force_close()
        return self._queued

    def _parse(self, piece: bytes) -> None:
        """Give the parser a piece; what it refuses and the contract has an answer for goes on as a request."""
        if self._answered == self._request_count and len(self._head) < LONGEST_HEAD:
            self._head += piece
        super().data_received(piece)
        if not self._messages:
            return
        message, self._last_body = self._messages[-1]
        # Of CONNECT, the parser takes a path for the name of a host.
        if isinstance(message, _ErrInfo) or message.method == "CONNECT":
            if (request := stand_in(bytes(self._head + self._unfed[:LONGEST_HEAD]))) is not None:
                # More of a long token may be on its way: the answer can be read only if that is taken for a while.
                rest = StreamReader(self, _READ_BYTES, loop=self._loop)
                self._messages[-1] = (request, rest if request.method in METHODS else EMPTY_PAYLOAD)
            self._broken = True
            self._unfed.clear()

    def eof_received(self) -> bool:  # type: ignore[override]
        """The caller writes no more; whether the connection is kept for the answer that it waits for."""
        soon = self._loop.time() - self._came_at < _HALF_CLOSE_SECONDS
        if soon and self._counted and not self._half_closed and (self._unfed or self._owes_answer()):
            assert isinstance(self._manager, _Server)
            self._half_closed = self._manager.wait_for_answer(self._address)
        return self._half_closed

    def _owes_answer(self) -> bool:
        """Whether there is a whole request that is not answered."""
        whole = self._last_body is None or self._last_body.is_eof()
        return whole and self._answered < self._request_count

    def resume_reading(self, resume_parser: bool = True) -> None:
        super().resume_reading(resume_parser)
        self._feed_soon()

    def _resume_transport_reading(self) -> None:
        # Whether more has come since is only seen from here on.
        self._came_at = self._loop.time()
        super()._resume_transport_reading()

    def pause_writing(self) -> None:
        """The caller does not read as fast as we write: it has some time to go on."""
        super().pause_writing()
        self._look(self._unwritten(), self._loop.time())

    def resume_writing(self) -> None:
        if self._looks is not None:
            self._looks.cancel()
            self._looks = None
        super().resume_writing()

    def _unwritten(self) -> int:
        return self._wire.get_write_buffer_size() if self._wire is not None else 0

    def _look(self, before: int, since: float) -> None:
        """End the connection when nothing has left it for its time; ``before`` was to be written ``since`` then."""
        seconds, now = self._settings.write_seconds, self._loop.time()
        if (left := self._unwritten()) != before:
            before, since = left, now
        if now - since < seconds:
            self._looks = self._loop.call_later(seconds / _PROGRESS_LOOKS, self._look, before, since)
        elif self._wire is not None:
            self._wire.abort()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        self.fed_seconds = 0.0
        self._answered += 1
        self._head.clear()
        known = self._settings.body_seconds if request.get(KNOWN) else _LINGER_SECONDS
        self._lingering_time = min(known, _LINGER_OF_STATUS.get(resp.status, known))
        finished = await super().finish_response(request, resp, start_time)
        if self._answered == self._request_count and (self._broken or (self._half_closed and not self._unfed)):
            self.close()
        return finished

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
        if status >= 500:
            log.error("unforeseen error", exc_info=exc)
            return _refusal(Internal("an internal error"))
        return _refusal(InvalidRequest("the request is not valid HTTP"))


class _Server(web.Server):
    """Makes the connections and counts them; takes ``Expect`` out of the headers, for the body's reader to answer."""

    def __init__(
        self,
        handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        request_factory: _RequestFactory,
        settings: Settings,
        **kwargs: Any,
    ) -> None:
        super().__init__(handler, request_factory=self._without_expect, **kwargs)
        self._inner_factory, self._settings = request_factory, settings
        self.feeder = Feeder(self._loop)
        self._open = 0
        self._of_address: Counter[str] = Counter()
        self._half_closed: Counter[str] = Counter()

    def enter(self, address: str) -> bool:
        """Whether one more connection from there is within the bounds; it is counted then."""
        settings = self._settings
        most = settings.connections_per_address or settings.connections
        if self._open >= settings.connections or self._of_address[address] >= most:
            CONNECTIONS_REFUSED.inc()
            return False
        self._of_address[address] += 1
        self._open += 1
        CONNECTIONS.set(self._open)
        return True

    def wait_for_answer(self, address: str) -> bool:
        """Whether one more caller there who writes no more is believed to read; it is counted then."""
        if self._half_closed[address] >= _HALF_CLOSED_AT_ONCE:
            return False
        self._half_closed[address] += 1
        return True

    def leave(self, address: str, *, half_closed: bool) -> None:
        """A connection that was counted has ended."""
        self._open -= 1
        CONNECTIONS.set(self._open)
        for counted, count in ((self._of_address, 1), (self._half_closed, int(half_closed))):
            counted[address] -= count
            if not counted[address]:
                del counted[address]

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

    def __call__(self) -> Connection:
        return Connection(self, loop=self._loop, settings=self._settings, **self._kwargs)


class Runner(web.AppRunner):
    """aiohttp's runner with our connections."""

    def __init__(self, app: web.Application, settings: Settings, **kwargs: Any) -> None:
        self._settings = settings
        super().__init__(
            app,
            access_log=None,
            # A caller who hangs up must not keep a model busy.
            handler_cancellation=True,
            shutdown_timeout=_SHUTDOWN_SECONDS,
            keepalive_timeout=settings.keepalive_seconds,
            # A compressed body is refused by its header; it must not be unpacked before that.
            auto_decompress=False,
            # Of chunks of a byte, aiohttp hands over a sixteenth of this at once.
            read_bufsize=_READ_BYTES,
            **kwargs,
        )

    async def _make_server(self) -> _Server:
        plain = await super()._make_server()
        return _Server(
            plain.request_handler,
            plain.request_factory,
            self._settings,
            handler_cancellation=plain.handler_cancellation,
            loop=plain._loop,
            **plain._kwargs,
        )
