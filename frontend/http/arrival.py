"""Receiving a body: expectations, minimum speed and maximum size."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import HttpVersion10, HttpVersion11, StreamReader, hdrs, web

from frontend.config.settings import Settings
from frontend.errors import ApiError, InvalidRequest, UnsupportedMedia, UploadTimeout

# Versions that are spoken here, and whether a request has another one: it is answered in the last of these.
VERSIONS = (HttpVersion10, HttpVersion11)
OF_ANOTHER_VERSION = web.RequestKey("of_another_version", bool)
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_RATE_SECONDS = 10.0  # between checks of the lowest rate


def refuse_encoding(request: web.Request) -> None:
    """Raise 415 for a compressed body, which the header announces."""
    codings = ",".join(request.headers.getall("Content-Encoding", [])).split(",")
    if not {coding.strip().lower() for coding in codings} <= {"", "identity"}:
        raise UnsupportedMedia("a compressed request body is not accepted")


def refuse_faulty(request: web.Request) -> None:
    """Raise 400 for what aiohttp takes and should not, whatever its path and key are."""
    if request.get(OF_ANOTHER_VERSION):
        raise InvalidRequest("only HTTP/1.0 and HTTP/1.1 are spoken here", headers={hdrs.CONNECTION: "close"})
    # Its body would be taken for another request (RFC 9110, 9.3.6). Behind a proxy, whose connections callers share,
    # they would get each other's answers.
    if request.method == hdrs.METH_CONNECT:
        raise InvalidRequest("the method CONNECT is not taken here", headers={hdrs.CONNECTION: "close"})
    # It would take the body with a coding that it does not decode (RFC 9112, 6.1).
    codings = ",".join(request.headers.getall(hdrs.TRANSFER_ENCODING, ("chunked",)))
    if codings.strip().lower() != "chunked":
        raise InvalidRequest("the only transfer coding that is accepted is chunked", headers={hdrs.CONNECTION: "close"})


async def defer_continue(_: web.Request) -> None:
    """Answer no ``Expect`` before the key, the size and the path are checked: the ``expect_handler`` of routes."""


async def _send_continue(request: web.Request) -> None:
    """Send ``100 Continue`` to a client that waits for it, after the key and the size are checked."""
    if request.headers.get(hdrs.EXPECT, "").lower() == "100-continue" and request.version == HttpVersion11:
        await request.writer.write(_CONTINUE)
        # aiohttp must not count these bytes as the answer's.
        request.writer.output_size = 0


async def _pieces(request: web.Request, most: int, too_large: ApiError) -> AsyncIterator[bytes]:
    """Pieces of the body as they arrive. Raises ``too_large`` after ``most`` bytes."""
    arrived = 0
    async for piece in request.content.iter_any():
        arrived += len(piece)
        if arrived > most:
            raise too_large
        yield piece


class _LowestRate:
    """Ends ``deadline`` if a body arrives at less than ``rate`` bytes a second over ``window`` seconds."""

    def __init__(self, body: StreamReader, rate: int, window: float, deadline: asyncio.Timeout) -> None:
        self._body, self._least, self._window, self._deadline = body, rate * window, window, deadline
        self._seen = 0
        self._loop = asyncio.get_running_loop()
        self._wait()

    def _wait(self) -> None:
        self._timer = self._loop.call_later(self._window, self._check)

    def _check(self) -> None:
        arrived = self._body.total_bytes - self._seen
        if arrived >= self._least:
            self._seen += arrived
            self._wait()
        elif not self._deadline.expired():
            self._deadline.reschedule(self._loop.time())

    def stop(self) -> None:
        self._timer.cancel()


@asynccontextmanager
async def _in_time(request: web.Request, settings: Settings) -> AsyncIterator[None]:
    """Raise 408 if the body takes too long in total or arrives below the lowest rate."""
    window = min(_RATE_SECONDS, settings.body_seconds)
    try:
        async with asyncio.timeout(settings.body_seconds) as deadline:
            lowest = _LowestRate(request.content, settings.min_body_rate, window, deadline)
            try:
                yield
            finally:
                lowest.stop()
    except TimeoutError:
        raise UploadTimeout("the request body did not arrive in time") from None
    except (web.RequestPayloadError, ConnectionError):
        raise InvalidRequest("the request body broke off") from None


@asynccontextmanager
async def receive_body(
    request: web.Request, settings: Settings, most: int, too_large: ApiError
) -> AsyncIterator[AsyncIterator[bytes]]:
    """Pieces of a body of at most ``most`` bytes. It first sends ``100 Continue`` if the client waits for it."""
    if (request.content_length or 0) > most:
        raise too_large
    await _send_continue(request)
    async with _in_time(request, settings):
        yield _pieces(request, most, too_large)
