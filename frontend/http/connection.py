"""Our RequestHandler: aiohttp's, with paced parsing, header timeouts and a draining shutdown.

This is the only module that uses private names of aiohttp:

- ``_messages``: parsed requests that no handler has begun. We count them, so that none is lost when a caller closes its
  writing side or the process ends. We also replace a request that the parser refused there, so that the application
  answers an unknown method with 405.
- ``_buffer_paused``: too many of them wait. Reading must then stay paused, or pipelined requests would fill the memory.
- ``_current_request``: the request being answered. We ask whether its answer has begun.

It also changes ``web_ws.DEFAULT_CHUNK_SIZE``, half the bytes of messages that wait for a live session. aiohttp has no
parameter for it. Its 512 KiB are 3,000 short messages: garbage collection of those of 500 sessions takes 160 ms.
"""

import asyncio
import fcntl
import socket
import struct
import termios
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any, cast

from aiohttp import HttpVersion11, StreamReader, web, web_ws
from aiohttp.http import RawRequestMessage, WebSocketReader
from aiohttp.streams import EMPTY_PAYLOAD

from frontend.config.settings import Settings
from frontend.errors import BadGateway, Internal, InvalidRequest, Unauthorized
from frontend.http.admission import Admission
from frontend.http.frames import FrameReader
from frontend.http.origins import readable
from frontend.http.parse_queue import ParseQueue
from frontend.http.rendering import refusal, refusal_bytes
from frontend.http.state import ServerState
from frontend.http.unparsed import LONGEST_HEAD, LONGEST_LINE, NOT_HTTP, fault_of, page_of, synthesize_request
from frontend.observe.logs import log

# Whether the caller is authenticated.
KNOWN = web.RequestKey("known", bool)
# Ends a connection that has an end of its own, when its key is revoked.
ON_REVOKED: web.RequestKey[Callable[[Unauthorized], None]] = web.RequestKey("on_revoked")
# Seconds for which the rest of a refused body is discarded, so that the client can read the refusal. Authenticated
# callers get longer.
_LINGER_SECONDS = 5.0
# aiohttp stops parsing a body when this many bytes wait to be read, or a sixteenth as many chunks.
_READ_BYTES = 1024
web_ws.DEFAULT_CHUNK_SIZE = 1024  # type: ignore[attr-defined]
# Bytes of an answer that the kernel takes before the caller reads: it has twice as many for them. By default, it takes
# megabytes for each connection, which no bound of ours counts.
_UNREAD_ANSWER_BYTES = 64 * 1024
# Most bytes that are parsed at once.
_PIECE_BYTES = 8 * 1024
# Makes the parser refuse what it has read, wherever it stands.
_NO_HTTP = b"\0:\r\n\r\n"
_RETRY_SECONDS = 5  # for ``Retry-After``
# Seconds. A caller that closes its writing side within this time of its request may wait for the answer. Later, it
# counts as disconnected.
_HALF_CLOSE_SECONDS = 0.1
# Seconds between interim responses to such a caller. If it has left, its host resets the connection at the first, and
# the second finds the reset.
_INTERIM_SECONDS = 1.0
_INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"


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


def ends_connection(request: web.BaseRequest) -> bool:
    """Whether the next answer is the last of its connection."""
    return isinstance(request.protocol, Connection) and request.protocol.is_answered_last()


def on_leaving(request: web.BaseRequest, leave: Callable[[], None]) -> None:
    """Let a shutdown call ``leave`` once, so that a connection without an end of its own ends."""
    if isinstance(request.protocol, Connection):
        request.protocol.leave = leave


def came_to_admin(request: web.BaseRequest) -> bool:
    return isinstance(request.protocol, Connection) and request.protocol.port.is_admin


@dataclass(frozen=True)
class Port:
    """State that the connections of a port share."""

    state: ServerState
    admission: Admission
    is_admin: bool = False
    parse_queue: ParseQueue = field(default_factory=ParseQueue)


class Connection(web.RequestHandler):
    def __init__(self, server: web.Server, port: Port, settings: Settings) -> None:
        self._event_loop = asyncio.get_running_loop()
        super().__init__(
            server,
            loop=self._event_loop,
            access_log=None,  # type: ignore[arg-type]
            keepalive_timeout=settings.keepalive_seconds,
            lingering_time=settings.body_seconds,
            # Refuse compressed bodies by their header, before they are decompressed.
            auto_decompress=False,
            read_bufsize=_READ_BYTES,
            max_line_size=LONGEST_LINE,
            max_field_size=LONGEST_LINE,
        )
        self.port = port
        self._settings = settings
        self._address = ""
        self._admitted = False
        # Bytes that wait to be parsed, and whether aiohttp has paused the body.
        self._unparsed = bytearray()
        self._body_paused = False
        # The first bytes of the current request, and how many came since the last whole head.
        self._head = bytearray()
        self._head_bytes = 0
        # Why the parser refused them, if it did, and the path and origin of that request.
        self._fault = ""
        self._asked_by = "", ""
        # Requests without a complete answer, and the body of the last one.
        self._unanswered = 0
        self._last_body: StreamReader = EMPTY_PAYLOAD
        self._received_at = 0.0
        self._half_closed = False
        # Whether the server ends the connection.
        self.ending = False
        # The reader of a WebSocket, whether it comes too fast, and how to end it.
        self._frames: FrameReader | None = None
        self._rests = False
        self.leave: Callable[[], None] | None = None

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
        self._admitted = self.port.admission.enter(self._address)
        if not self._admitted:
            full = BadGateway("there are too many connections, retry later", retry_after=_RETRY_SECONDS)
            wire.write(refusal_bytes(full))
            self.force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        # A connection that ended before it was accepted, or came over a Unix socket, has no address. It counts too.
        if self._admitted:
            self._admitted = False
            self.port.admission.leave(self._address)
        self._first_request.cancel()
        self._unparsed.clear()
        # Both refer to this connection, and reference cycles make garbage collection longer.
        self._last_body, self.leave, self._frames = EMPTY_PAYLOAD, None, None
        super().connection_lost(exc)

    async def shutdown(self, timeout: float | None = 15.0) -> None:  # noqa: ASYNC109 - as aiohttp calls it
        self.ending = True
        await super().shutdown(timeout)

    def is_answered_last(self) -> bool:
        """Whether, during a shutdown, no request follows the one being answered."""
        return self.port.state.closing and self._unanswered <= 1

    def close_if_idle(self, *, patient: bool) -> None:
        """Close the connection if no request has begun. With ``patient``, a partial request counts as begun."""
        if self.leave is not None:
            leave, self.leave = self.leave, None
            leave()
            return
        wire = self.transport
        idle = not self._unanswered and self._last_body.is_eof() and not self._unparsed
        if wire is not None and idle and not _unread_bytes(wire) and not (patient and self._head):
            self.force_close()

    def data_received(self, data: bytes) -> None:
        """Parse new bytes in pieces, when the parse queue allows it. No more are read until then."""
        if not data:
            # aiohttp resumes the parser.
            self._parse(data)
            return
        queue, waits = self.port.parse_queue, bool(self._unparsed) or self._rests
        self._unparsed += data
        if not waits:
            # Only the first bytes of a request count as a beginning, even if the rest comes slowly.
            (queue.resume if self._head or self._frames else queue.begin)(self._parse_piece)
        if self._unparsed and self.transport is not None:
            self.transport.pause_reading()

    def _parse_piece(self) -> None:
        piece = bytes(self._unparsed[:_PIECE_BYTES])
        del self._unparsed[:_PIECE_BYTES]
        self._parse(piece)
        if self._frames is not None and self._frames.early > 0 and self.transport is not None:
            self._rests = True
            self.transport.pause_reading()
            self._event_loop.call_later(self._frames.early, self._end_rest)
        else:
            self._read_on()

    def _end_rest(self) -> None:
        self._rests = False
        if self.transport is not None:
            self._read_on()

    def _read_on(self) -> None:
        if self._unparsed:
            # A session that is behind with its messages gets no more of them.
            if not (self._frames and self._body_paused):
                self.port.parse_queue.resume(self._parse_piece)
        elif self.transport is not None and not self._body_paused and not self._buffer_paused:
            self.transport.resume_reading()

    def _parse(self, data: bytes) -> None:
        """Parse. If the parser refuses a request that the API answers itself, a substitute request replaces it."""
        if self._fault:
            return
        # Without data, aiohttp resumes the parser. The clock for more data starts here.
        self._received_at = self._event_loop.time()
        # While many requests wait, the parser keeps the bytes of others.
        if self._frames is None and self._last_body.is_eof() and not self._buffer_paused:
            self._head += data[: LONGEST_HEAD - len(self._head)]
            self._head_bytes += len(data)
        before = len(self._messages)
        super().data_received(data)
        if self._head_bytes >= LONGEST_HEAD and len(self._messages) == before:
            super().data_received(_NO_HTTP)
        if (new := len(self._messages) - before) > 0:
            self._first_request.cancel()
            size, self._head_bytes = self._head_bytes, 0
            if not self._last_body.is_eof():
                self._refuse_body()
                return
            self._unanswered += new
            message, self._last_body = self._messages[-1]
            # For CONNECT, the parser reads the path as a host name.
            if not isinstance(message, RawRequestMessage) or message.method == "CONNECT":
                self._replace_last(size)

    def set_parser(self, parser: WebSocketReader, data_received_cb: Callable[[], None] | None = None) -> None:
        """aiohttp reads messages of a WebSocket from now on."""
        self._frames = FrameReader(parser)
        self._head.clear()
        super().set_parser(cast(WebSocketReader, self._frames), data_received_cb)

    def _replace_last(self, size: int) -> None:
        head = bytes(self._head + self._unparsed)[:LONGEST_HEAD]
        self._fault = fault_of(getattr(self._messages[-1][0], "exc", None), head, size)
        self._asked_by = page_of(head)
        if (request := synthesize_request(head)) is not None:
            self._messages[-1] = (request, EMPTY_PAYLOAD)
        elif self._fault != NOT_HTTP:
            # More may follow. Read it for a while, or the client cannot read the answer.
            rest = StreamReader(self, _READ_BYTES, loop=self._event_loop)
            self._messages[-1] = (self._messages[-1][0], rest)

    def _refuse_body(self) -> None:
        """Give the error to the reader of a body whose rest the parser refused. There is no request to answer."""
        self._fault = fault_of(getattr(self._messages.pop()[0], "exc", None), bytes(self._head), 0)
        # In this order: an end without the error would be that of a whole body.
        self._last_body.set_exception(InvalidRequest(self._fault))
        self._last_body.feed_eof()
        if not self._unanswered:
            self.close()

    def pause_reading(self) -> None:
        self._body_paused = True
        super().pause_reading()

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Resume parsing in a later iteration of the event loop.

        A reader that discards a body would otherwise never yield.
        """
        self.port.parse_queue.resume(partial(self._resume, resume_parser))

    def _resume(self, resume_parser: bool) -> None:
        if self.transport is None:
            return
        # A session that takes several messages in one iteration resumes as often.
        held, self._body_paused = self._frames is not None and self._body_paused, False
        super().resume_reading(resume_parser)
        if (self._unparsed or self._rests) and self.transport is not None:
            self.transport.pause_reading()
            if held and not self._rests:
                self.port.parse_queue.resume(self._parse_piece)

    def eof_received(self) -> bool:  # type: ignore[override]
        """The caller closed its writing side. Returns whether the connection stays open for the answer."""
        soon = self._event_loop.time() - self._received_at < _HALF_CLOSE_SECONDS
        answering = self._admitted and self._frames is None and self._unanswered and self._last_body.is_eof()
        # A transport that reads again finds the end again.
        if soon and answering and not self._half_closed:
            self._half_closed = True
            self._event_loop.call_later(_INTERIM_SECONDS, self._find_reset)
        return self._half_closed

    def _find_reset(self) -> None:
        """Write an interim response, unless an answer has begun. In HTTP/1.0 there is none: end the connection."""
        if self.transport is None:
            return
        request = self._current_request
        if request is not None and request.writer.output_size == 0:
            if request.version < HttpVersion11:
                self.force_close()
                return
            self.transport.write(_INTERIM)
        self._event_loop.call_later(_INTERIM_SECONDS, self._find_reset)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        self._head.clear()
        finished = await super().finish_response(request, resp, start_time)
        self._unanswered -= 1
        if not request.content.is_eof() and (resp.status == HTTPStatus.REQUEST_TIMEOUT or not request.get(KNOWN)):
            self._event_loop.call_later(_LINGER_SECONDS, self._end_linger, request.content)
        if not self._unanswered and (self._fault or self._half_closed):
            self.close()
        return finished

    def _end_linger(self, body: StreamReader) -> None:
        if not body.is_eof():
            self.force_close()

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """Log an error of the server. A disconnect while the rest of a body is discarded is none."""
        if self.transport is not None:
            super().log_exception(*args, **kw)

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Answer bytes that are not HTTP, and faults outside of the middlewares."""
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun already")
        if status >= 500:
            log.error("unforeseen error", exc_info=exc)
            return refusal(Internal("an internal error"))
        answer = refusal(InvalidRequest(self._fault or NOT_HTTP))
        answer.headers.update(readable(self._settings.allowed_origins, *self._asked_by))
        return answer


def _unread_bytes(wire: asyncio.BaseTransport) -> int:
    """Bytes that the kernel has received and the event loop has not read."""
    (count,) = struct.unpack("i", fcntl.ioctl(wire.get_extra_info("socket").fileno(), termios.FIONREAD, bytes(4)))
    return int(count)
