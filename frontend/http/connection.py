"""A connection: aiohttp's, with bounds of number, memory and time, and refusals in the API's form.

It overrides methods of ``web.RequestHandler`` that have public names, and uses no private one.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Protocol, cast

from aiohttp import StreamReader, web
from aiohttp.http import WebSocketReader
from aiohttp.http_exceptions import LineTooLong
from aiohttp.streams import EMPTY_PAYLOAD

from frontend.config.settings import Settings
from frontend.errors import BadGateway, Internal, InvalidRequest, Unauthorized
from frontend.http.connection_limit import ConnectionLimit
from frontend.http.rendering import refusal, refusal_bytes
from frontend.observe.logs import log

# Ends a connection that has an end of its own, when its key is revoked.
ON_REVOKED: web.RequestKey[Callable[[Unauthorized], None]] = web.RequestKey("on_revoked")
# Most bytes of a request line or of a header: 16 KiB, as peers take, and its name.
_LONGEST_LINE = 17 * 1024
# Bytes that may come before a request is complete, or behind one. A last read may add to them.
_LONGEST_HEAD = 64 * 1024
# aiohttp stops parsing a body when twice as many bytes wait to be read, or a sixteenth as many chunks. While it parses,
# others wait, and chunks of a byte take long. With less, it copies what is not parsed yet too often.
_READ_BYTES = 4 * 1024
# Bytes of an answer that the kernel takes before the caller reads: it has twice as many for them. By default, it takes
# megabytes for each connection, which no bound of ours counts.
_UNREAD_ANSWER_BYTES = 64 * 1024
# Bytes that the kernel takes before we read, and twice as many with what surrounds them. With a round trip of 50 ms,
# 5 MB a second arrive. By default, it takes megabytes from a connection that was fast before.
_UNREAD_REQUEST_BYTES = 256 * 1024
_RETRY_SECONDS = 5  # for ``Retry-After``


class FrameReader(Protocol):
    """Stands before aiohttp's reader of a WebSocket, and may ask for a rest. ``go_on`` is called after it."""

    def go_on(self) -> tuple[bool, bytes]: ...


# Makes one of aiohttp's reader, and of what to call with the seconds for which no more should be read.
FrameReaders = Callable[[WebSocketReader, Callable[[float], None]], FrameReader]


def has_disconnected(request: web.BaseRequest) -> bool:
    """Whether the caller closed the connection."""
    connection, transport = request.protocol, request.protocol.transport
    ending = isinstance(connection, Connection) and connection.ending
    return not ending and (transport is None or transport.is_closing())


def break_off(request: web.BaseRequest, *, failed: bool) -> None:
    """Abort the connection within an answer. If the server has ``failed``, the caller has not disconnected."""
    if failed and isinstance(request.protocol, Connection):
        request.protocol.ending = True
    if request.transport is not None:
        request.transport.abort()


def read_frames_with(request: web.BaseRequest, readers: FrameReaders) -> None:
    """Let the frames of a WebSocket, which the request is about to become, pass through a reader."""
    if isinstance(request.protocol, Connection):
        request.protocol.frame_readers = readers


def came_to_admin(request: web.BaseRequest) -> bool:
    return isinstance(request.protocol, Connection) and request.protocol.is_admin


class Connection(web.RequestHandler):
    def __init__(self, server: web.Server, limit: ConnectionLimit, settings: Settings, *, is_admin: bool) -> None:
        self._event_loop = asyncio.get_running_loop()
        super().__init__(
            server,
            loop=self._event_loop,
            access_log=None,  # type: ignore[arg-type]
            keepalive_timeout=settings.keepalive_seconds,
            # Refuse compressed bodies by their header, before they are decompressed.
            auto_decompress=False,
            read_bufsize=_READ_BYTES,
            max_line_size=_LONGEST_LINE,
            max_field_size=_LONGEST_LINE,
        )
        self.is_admin = is_admin
        # Whether the server ends the connection.
        self.ending = False
        self._limit, self._settings = limit, settings
        self._address, self._admitted = "", False
        # The body of the last request, and the bytes that came behind it.
        self._arriving: StreamReader = EMPTY_PAYLOAD
        self._head_bytes = 0
        # Whether aiohttp reads no more now, and whether it is about to.
        self._is_full = self._resumes = False
        # What reads the frames of a WebSocket, and whether they come too fast.
        self.frame_readers: FrameReaders | None = None
        self._frames: FrameReader | None = None
        self._rests = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        wire = cast(asyncio.Transport, transport)
        self._first_request = self._event_loop.call_later(self._settings.header_seconds, self.force_close)
        super().connection_made(wire)
        # The transport buffers nothing, so that the writer waits for the reader.
        wire.set_write_buffer_limits(0)
        self._address = str(self.peername[0]) if self.peername else ""
        if self._address:
            # The kernel closes the connection if the caller reads nothing for this long (milliseconds).
            stall = int(1000 * self._settings.write_seconds)
            options = wire.get_extra_info("socket")
            options.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, stall)
            options.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNREAD_ANSWER_BYTES)
            options.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _UNREAD_REQUEST_BYTES)
        self._admitted = self._limit.enter(self._address)
        if not self._admitted:
            full = BadGateway("there are too many connections, retry later", retry_after=_RETRY_SECONDS)
            wire.write(refusal_bytes(full))
            self.force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        # A connection that ended before it was accepted, or came over a Unix socket, has no address. It counts too.
        if self._admitted:
            self._limit.leave(self._address)
        self._first_request.cancel()
        # Both refer to this connection, and reference cycles make garbage collection longer.
        self._arriving, self._frames = EMPTY_PAYLOAD, None
        super().connection_lost(exc)

    async def shutdown(self, timeout: float | None = 15.0) -> None:  # noqa: ASYNC109 - as aiohttp calls it
        self.ending = True
        await super().shutdown(timeout)

    def begin(self, body: StreamReader) -> None:
        """Note that a request has arrived, with or without the rest of its body."""
        self._first_request.cancel()
        self._arriving, self._head_bytes = body, 0

    def data_received(self, data: bytes) -> None:
        """Parse. aiohttp bounds each line of a request's head, and we all of them together."""
        if data and self._arriving.is_eof() and self._frames is None:
            if self._head_bytes > _LONGEST_HEAD:
                self.force_close()
            self._head_bytes += len(data)
        super().data_received(data)

    def set_parser(self, parser: WebSocketReader, data_received_cb: Callable[[], None] | None = None) -> None:
        """aiohttp reads messages of a WebSocket from now on."""
        if self.frame_readers is not None:
            self._frames, self.frame_readers = self.frame_readers(parser, self._rest), None
            parser = cast(WebSocketReader, self._frames)
        super().set_parser(parser, data_received_cb)

    def pause_reading(self) -> None:
        self._is_full = True
        super().pause_reading()

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Resume in another iteration of the event loop: a reader that discards a body would else never yield.

        aiohttp calls this for each piece that is read, until there is more.
        """
        if not self._resumes:
            self._resumes = True
            self._event_loop.call_soon(self._resume, resume_parser)

    def _resume(self, resume_parser: bool) -> None:
        self._is_full = self._resumes = False
        if self.transport is not None:
            super().resume_reading(resume_parser)
        if self._rests and self.transport is not None:
            self.transport.pause_reading()

    def _rest(self, seconds: float) -> None:
        """Read no more for so long."""
        if self.transport is not None:
            self._rests = True
            self.transport.pause_reading()
            self._event_loop.call_later(seconds, self._end_rest)

    def _end_rest(self) -> None:
        self._rests = False
        if self.transport is None or self._frames is None:
            return
        ended, _ = self._frames.go_on()
        if ended:
            self.close()
        if not self._rests and not self._is_full:
            self.transport.resume_reading()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Answer what the parser refuses, and faults outside of the middlewares."""
        if request.writer.output_size > 0 or isinstance(exc, ConnectionResetError):
            raise ConnectionError("an answer has begun already, or there is nobody to answer")
        if status >= 500:
            log.error("unforeseen error", exc_info=exc)
            return refusal(Internal("an internal error"))
        if isinstance(exc, LineTooLong):
            return refusal(InvalidRequest("the address or a header is too long"))
        return refusal(InvalidRequest("the request is not valid HTTP"))
