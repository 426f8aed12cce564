"""Connections: aiohttp's own, with bounds on what a caller may hold, and the contract's answers to what is no HTTP.

The one module that relies on a private name of aiohttp: ``_messages``. It holds the requests that the parser has made
and that no handler has begun. They are counted, since neither a caller who sends several at once and closes its
writing side nor a process that ends may lose one; and a request that the parser refused is replaced there, for the
application to answer an unknown method with 405 and a long token with 401.
"""

import asyncio
import fcntl
import socket
import struct
import termios
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import cast

from aiohttp import StreamReader, web
from aiohttp.http import RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD

from frontend.config.settings import Settings
from frontend.errors import BadGateway, Internal, InvalidRequest
from frontend.http.admission import Admission
from frontend.http.origins import readable
from frontend.http.rendering import refusal, refusal_bytes
from frontend.http.state import ServerState
from frontend.http.unparsed import METHODS, page_of, synthesize_request
from frontend.observe.logs import log

# Whether the caller is known: set by whoever finds that out.
KNOWN = web.RequestKey("known", bool)
# How long the rest of a refused body is thrown away, for the client to read the refusal; longer where it is known.
_LINGER_SECONDS = 5.0
# aiohttp stops parsing a body when so much of it waits to be read, or a sixteenth as many chunks.
_READ_BYTES = 1024
# So long bodies are parsed in one turn of the event loop, whatever the number of their connections.
_PARSE_SECONDS = 0.002
# A request's first bytes are kept to be looked at if the parser refuses it.
_LONGEST_HEAD = 32 * 1024
_RETRY_SECONDS = 5
# A caller who closes its writing side so soon after the end of its request waits for the answer; later, it has hung up.
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


class ParseQueue:
    """Connections whose bodies are parsed on: in turn, and for a short time in each turn of the event loop."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_due = False

    def add(self, resume: Callable[[], None]) -> None:
        self._waiting.append(resume)
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        ends = time.perf_counter() + _PARSE_SECONDS
        try:
            while self._waiting and time.perf_counter() < ends:
                self._waiting.popleft()()
        finally:
            self._is_due = bool(self._waiting)
            if self._is_due:
                asyncio.get_running_loop().call_soon(self._run)


@dataclass(frozen=True)
class Port:
    """What its connections share."""

    state: ServerState
    admission: Admission
    is_admin: bool = False
    parse_queue: ParseQueue = field(default_factory=ParseQueue)


class Connection(web.RequestHandler):
    """One connection."""

    def __init__(self, server: web.Server, port: Port, settings: Settings) -> None:
        self._event_loop = asyncio.get_running_loop()
        super().__init__(
            server,
            loop=self._event_loop,
            access_log=None,  # type: ignore[arg-type]
            keepalive_timeout=settings.keepalive_seconds,
            lingering_time=settings.body_seconds,
            # A compressed body is refused by its header; it must not be unpacked before that.
            auto_decompress=False,
            read_bufsize=_READ_BYTES,
        )
        self.port = port
        self._settings = settings
        self._address = ""
        self._admitted = False
        # The first bytes of the request under way.
        self._head = bytearray()
        # Whether the parser stumbled over them, and the path and the page's origin of the request that it did so at.
        self._broken = False
        self._asked_by = "", ""
        # Requests without a whole answer, and the body of the last of them.
        self._unanswered = 0
        self._last_body: StreamReader = EMPTY_PAYLOAD
        self._received_at = 0.0
        self._half_closed = False
        # Whether it is we who end the connection.
        self.ending = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        wire = cast(asyncio.Transport, transport)
        self._first_request = self._event_loop.call_later(self._settings.header_seconds, self.force_close)
        super().connection_made(wire)
        # Nothing is kept back in the transport, so that whoever writes waits for whoever reads.
        wire.set_write_buffer_limits(0)
        self._address = str(self.peername[0]) if self.peername else ""
        if self._address:
            # The kernel breaks a connection off when its caller takes nothing for so long.
            stall = int(1000 * self._settings.write_seconds)
            wire.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, stall)
        self._admitted = self.port.admission.enter(self._address)
        if not self._admitted:
            full = BadGateway("there are too many connections, retry later", retry_after=_RETRY_SECONDS)
            wire.write(refusal_bytes(full))
            self.force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        # One that was broken off before it was accepted, or came over a Unix socket, has no address and counts too.
        if self._admitted:
            self._admitted = False
            self.port.admission.leave(self._address, half_closed=self._half_closed)
        self._first_request.cancel()
        super().connection_lost(exc)

    async def shutdown(self, timeout: float | None = 15.0) -> None:  # noqa: ASYNC109 - as aiohttp calls it
        self.ending = True
        await super().shutdown(timeout)

    def is_answered_last(self) -> bool:
        """Whether, on the way to the end, nothing more has come than what is being answered."""
        return self.port.state.closing and self._unanswered <= 1

    def close_if_idle(self, *, patient: bool) -> None:
        """End the connection where nothing of a request has come; ``patient`` with one that has sent a part."""
        wire = self.transport
        idle = not self._unanswered and self._last_body.is_eof()
        if wire is not None and idle and not _unread_bytes(wire) and not (patient and self._head):
            self.force_close()

    def data_received(self, data: bytes) -> None:
        """Have what has come parsed; what the parser refuses and the contract answers goes on as a request."""
        if self._broken:
            return
        # Without data, aiohttp has the parser go on, and whether more can come is seen from here on.
        self._received_at = self._event_loop.time()
        self._head += data[: _LONGEST_HEAD - len(self._head)]
        before = len(self._messages)
        super().data_received(data)
        if (new := len(self._messages) - before) > 0:
            self._first_request.cancel()
            self._unanswered += new
            message, self._last_body = self._messages[-1]
            # Of CONNECT, the parser takes a path for the name of a host.
            if not isinstance(message, RawRequestMessage) or message.method == "CONNECT":
                self._replace_last()

    def _replace_last(self) -> None:
        head = bytes(self._head)
        self._broken = True
        self._asked_by = page_of(head)
        if (request := synthesize_request(head)) is not None:
            # More of a long token may be on its way: the answer can be read only if that is taken for a while.
            rest = StreamReader(self, _READ_BYTES, loop=self._event_loop)
            self._messages[-1] = (request, rest if request.method in METHODS else EMPTY_PAYLOAD)

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Go on in another turn of the event loop: who throws a body away would never give it back."""
        self.port.parse_queue.add(partial(self._resume, resume_parser))

    def _resume(self, resume_parser: bool) -> None:
        if self.transport is not None:
            super().resume_reading(resume_parser)

    def eof_received(self) -> bool:  # type: ignore[override]
        """The caller writes no more; whether the connection is kept for the answer that it waits for."""
        soon = self._event_loop.time() - self._received_at < _HALF_CLOSE_SECONDS
        if soon and self._admitted and self._unanswered and self._last_body.is_eof():
            self._half_closed = self.port.admission.half_close(self._address)
        return self._half_closed

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        self._head.clear()
        finished = await super().finish_response(request, resp, start_time)
        self._unanswered -= 1
        if not request.content.is_eof() and (resp.status == HTTPStatus.REQUEST_TIMEOUT or not request.get(KNOWN)):
            self._event_loop.call_later(_LINGER_SECONDS, self._end_linger, request.content)
        if not self._unanswered and (self._broken or self._half_closed):
            self.close()
        return finished

    def _end_linger(self, body: StreamReader) -> None:
        if not body.is_eof():
            self.force_close()

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


def _unread_bytes(wire: asyncio.BaseTransport) -> int:
    """How much has come that the event loop has not taken from the kernel."""
    (count,) = struct.unpack("i", fcntl.ioctl(wire.get_extra_info("socket").fileno(), termios.FIONREAD, bytes(4)))
    return int(count)
