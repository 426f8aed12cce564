"""Connections: what of aiohttp's is taken as it is, and what its parser, its timers and its end are made to do instead.

With ``runner.py``, this relies on the inside of aiohttp: ``tests/unit/http/test_connection.py`` names the version and
every private name.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import cast

from aiohttp import StreamReader, web
from aiohttp.streams import EMPTY_PAYLOAD
from aiohttp.web_protocol import _ErrInfo

from frontend.config.settings import Settings
from frontend.errors import BadGateway, Internal, InvalidRequest
from frontend.http.admission import Admission
from frontend.http.feeder import Feeder
from frontend.http.incoming import Incoming, unread_bytes
from frontend.http.life import Life
from frontend.http.origins import readable
from frontend.http.rendering import refusal, refusal_bytes
from frontend.http.stalls import StallWatch
from frontend.http.unparsed import METHODS, page_of, stand_in
from frontend.observe.logs import log

# Whether the caller is known: set by whoever finds that out.
KNOWN = web.RequestKey("known", bool)
# How long what is left of a refused body is thrown away, for the client to read the refusal.
_LINGER_SECONDS = 5.0
_LINGER_OF_STATUS = {401: 2.0, 408: 2.0}
# Of chunks of a byte, aiohttp hands over a sixteenth of this at once.
_READ_BYTES = 8 * 1024
_RETRY_SECONDS = 5
# A caller who writes no more so soon after the end of its request waits for the answer; later, it has hung up.
_HALF_CLOSE_SECONDS = 0.1


def has_hung_up(request: web.BaseRequest) -> bool:
    """Whether the caller has broken the connection off, and not we."""
    connection, transport = request.protocol, request.protocol.transport
    ending = isinstance(connection, Connection) and connection.ending
    return not ending and (transport is None or transport.is_closing())


def ends_connection(request: web.BaseRequest) -> bool:
    """Whether the answer that is about to go out is to be the last of its connection."""
    return isinstance(request.protocol, Connection) and request.protocol.is_answered_last()


def came_to_admin(request: web.BaseRequest) -> bool:
    """Whether a request came over the admin port."""
    return isinstance(request.protocol, Connection) and request.protocol.port.is_admin


@dataclass(frozen=True)
class Port:
    """What its connections share."""

    life: Life
    admission: Admission
    feeder: Feeder
    is_admin: bool = False


class Connection(web.RequestHandler):
    """One connection; what is no HTTP is refused in the contract's shape."""

    def __init__(self, server: web.Server, port: Port, settings: Settings) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            access_log=None,  # type: ignore[arg-type]
            keepalive_timeout=settings.keepalive_seconds,
            # A compressed body is refused by its header; it must not be unpacked before that.
            auto_decompress=False,
            read_bufsize=_READ_BYTES,
        )
        self._settings, self._admission, self._feeder = settings, port.admission, port.feeder
        self.port = port
        self._address = ""
        self._admitted = False
        self._incoming = Incoming()
        self._queued = False
        # The time that the parser has had for the request under way.
        self.fed_seconds = 0.0
        # Whether the parser stumbled over what came.
        self._broken = False
        # The path and the page's origin of what the parser stumbled over.
        self._asked_by = "", ""
        # When something came last, whether more can come, and what of it is not answered yet.
        self._came_at = 0.0
        self._half_closed = False
        self._last_body: StreamReader | None = None
        self._answered = 0
        # Whether it is we who end the connection.
        self.ending = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        wire = cast(asyncio.Transport, transport)
        # aiohttp forgets the transport while what was written to it may still be on its way.
        self._stalls = StallWatch(wire, self._settings.write_seconds)
        self._first_request = self._loop.call_later(self._settings.header_seconds, self._end_without_request)
        super().connection_made(transport)
        # aiohttp's timer would give as long to one that never sends its first headers as to one that is idle.
        self.keep_alive(True)
        # Nothing is kept back in the transport, so that whoever writes waits for whoever reads.
        wire.set_write_buffer_limits(0)
        self._address = str(self.peername[0]) if self.peername else ""
        self._admitted = self._admission.enter(self._address)
        if not self._admitted:
            full = BadGateway("there are too many connections, retry later", retry_after=_RETRY_SECONDS)
            wire.write(refusal_bytes(full))
            self.force_close()

    def _end_without_request(self) -> None:
        if not self._request_count:
            self.force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        # One that was broken off before it was accepted, or came over a Unix socket, has no address and counts too.
        if self._admitted:
            self._admitted = False
            self._admission.leave(self._address, half_closed=self._half_closed)
        self._stalls.end()
        self._first_request.cancel()
        self._incoming.drop()
        super().connection_lost(exc)

    async def shutdown(self, timeout: float | None = 15.0) -> None:  # noqa: ASYNC109 - as aiohttp calls it
        self.ending = True
        await super().shutdown(timeout)

    def is_answered_last(self) -> bool:
        """Whether, on the way to the end, nothing more has come than what is being answered."""
        body_is_whole = self._last_body is None or self._last_body.is_eof()
        return self.port.life.closing and not self._messages and not (self._incoming and body_is_whole)

    def close_if_idle(self, *, patient: bool) -> None:
        """End the connection where nothing of a request has come; ``patient`` with one that has sent a part."""
        waiter, wire = self._waiter, self.transport
        if waiter is None or waiter.done() or wire is None or self._incoming or unread_bytes(wire):
            return
        if not (patient and self._incoming.head()):
            self.force_close()

    def data_received(self, data: bytes) -> None:
        """Feed the parser little by little: a read of 256 KiB may hold a thousand requests, or chunks of a byte."""
        if self._broken:
            return
        if data:
            self._came_at = self._loop.time()
            self._incoming.add(data)
            self._feed_soon()
            if self._queued:
                self._pause_reading_for_buffer()
        else:
            # aiohttp has the parser go on with what that holds.
            super().data_received(data)

    def _feed_soon(self, *, later: bool = False) -> None:
        if self._incoming and not self._queued:
            self._queued = True
            self._feeder.add(self, later=later)

    def feed(self) -> bool:
        """Give the parser a piece of what has come; whether there is another for it."""
        if self._incoming and not self._reading_paused and self.transport is not None:
            piece = self._incoming.take(keep=self._answered == self._request_count)
            began = time.perf_counter()
            self._parse(piece)
            self._incoming.took(time.perf_counter() - began)
        if self.transport is None:
            self._incoming.drop()
        elif self._incoming:
            self._pause_reading_for_buffer()
        elif self._buffer_paused:
            self._resume_reading_if_drained()
        self._queued = bool(self._incoming) and not self._reading_paused
        if self._half_closed and not self._incoming and not self._owes_answer():
            self.force_close()
        return self._queued

    def _parse(self, piece: bytes) -> None:
        """Give the parser a piece; what it refuses and the contract has an answer for goes on as a request."""
        super().data_received(piece)
        if not self._messages:
            return
        message, self._last_body = self._messages[-1]
        # Of CONNECT, the parser takes a path for the name of a host.
        if isinstance(message, _ErrInfo) or message.method == "CONNECT":
            head = self._incoming.head()
            self._asked_by = page_of(head)
            if (request := stand_in(head)) is not None:
                # More of a long token may be on its way: the answer can be read only if that is taken for a while.
                rest = StreamReader(self, _READ_BYTES, loop=self._loop)
                self._messages[-1] = (request, rest if request.method in METHODS else EMPTY_PAYLOAD)
            self._broken = True
            self._incoming.drop()

    def eof_received(self) -> bool:  # type: ignore[override]
        """The caller writes no more; whether the connection is kept for the answer that it waits for."""
        soon = self._loop.time() - self._came_at < _HALF_CLOSE_SECONDS
        if soon and self._admitted and not self._half_closed and (self._incoming or self._owes_answer()):
            self._half_closed = self._admission.half_close(self._address)
        return self._half_closed

    def _owes_answer(self) -> bool:
        """Whether there is a whole request that is not answered."""
        whole = self._last_body is None or self._last_body.is_eof()
        return whole and self._answered < self._request_count

    def resume_reading(self, resume_parser: bool = True) -> None:
        super().resume_reading(resume_parser)
        self._feed_soon(later=True)

    def _resume_transport_reading(self) -> None:
        # Whether more has come since is only seen from here on.
        self._came_at = self._loop.time()
        super()._resume_transport_reading()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalls.begin()

    def resume_writing(self) -> None:
        self._stalls.end()
        super().resume_writing()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        self.fed_seconds = 0.0
        self._answered += 1
        self._incoming.forget_head()
        known = self._settings.body_seconds if request.get(KNOWN) else _LINGER_SECONDS
        self._lingering_time = min(known, _LINGER_OF_STATUS.get(resp.status, known))
        finished = await super().finish_response(request, resp, start_time)
        if self._answered == self._request_count and (self._broken or (self._half_closed and not self._incoming)):
            self.close()
        return finished

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Bytes that are no HTTP request, or a fault outside of the middlewares."""
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun already")
        if status >= 500:
            log.error("unforeseen error", exc_info=exc)
            return refusal(Internal("an internal error"))
        answer = refusal(InvalidRequest("the request is not valid HTTP"))
        answer.headers.update(readable(self._settings.allowed_origins, *self._asked_by))
        return answer
