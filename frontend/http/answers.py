"""Delivery of answers: the only place that sends an answer, and charges the bill of its request with it."""

import asyncio
import math
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from http import HTTPStatus

from aiohttp import web
from aiohttp.helpers import must_be_empty_body

from frontend.billing.bill import BILLING, Bill
from frontend.config.settings import Settings
from frontend.dispatch.context import RequestContext
from frontend.errors import ApiError
from frontend.http.connection import break_off, has_disconnected
from frontend.http.memory import MemoryReservation
from frontend.observe.logs import log
from frontend.observe.record import current

# Most bytes of an answer in the transport at once. aiohttp accepts this many without waiting.
_PIECE = 48 * 1024

# Values that middlewares attach to a request.
SETTINGS = web.AppKey("settings", Settings)
MEMORY_RESERVATION = web.RequestKey("memory_reservation", MemoryReservation)
CONTEXT = web.RequestKey("context", RequestContext)


async def deliver(
    request: web.Request, head: Mapping[str, str], body: bytes | AsyncGenerator[bytes, None], *, status: int = 200
) -> web.StreamResponse:
    """Send an answer, from one buffer or as a stream, as fast as the caller reads.

    The charge is on disk before the last piece goes out, or before the end of a stream. If the process dies, it has
    charged for a nearly complete answer or for none. A client that retries with the same request id is not charged
    again. A caller that disconnects after the first byte, or reads too slowly, pays. If the server fails, it charges
    nothing and aborts the connection: the client has no other way to notice.
    """
    answer, settings, bill = _answer(head, body, status), request.app[SETTINGS], _bill(request, status)
    if isinstance(body, bytes):
        # A body that HTTP does not allow here would corrupt the connection's next answer.
        if must_be_empty_body(request.method, status):
            body = b""
        # Release the resources of the work before the caller reads.
        request[MEMORY_RESERVATION].closing.close()
        request[MEMORY_RESERVATION].resize(len(body))
        cut = max(0, len(body) - 1) // _PIECE * _PIECE
        pieces, last = _cut(body, cut, request[MEMORY_RESERVATION]), body[cut:] if cut else b""
        rate = float(settings.min_answer_rate)
        seconds = settings.write_seconds + len(last) / rate
    else:
        pieces, last = body, b""
        seconds, rate = settings.write_seconds + request[CONTEXT].remaining(), math.inf
    with current().tracer.span("answer"):
        await answer.prepare(request)
        begun, waits, due = False, False, asyncio.get_running_loop().time() + seconds
        deadline = asyncio.timeout_at(due)
        try:
            async with deadline, aclosing(pieces):
                async for piece in pieces:
                    # A stream that ends at the request's deadline while its reader is waited for is broken off by it.
                    waits = not isinstance(body, bytes)
                    due += len(piece) / rate
                    deadline.reschedule(due)
                    await answer.write(piece)
                    begun = True
                    await request.writer.drain()
                    waits = False
                if has_disconnected(request):
                    raise ConnectionResetError("the caller has hung up")
                if bill is not None:
                    bill.charge()
                await answer.write_eof(last)
        except BaseException as error:
            left = has_disconnected(request) or deadline.expired() or waits
            if bill is not None and begun and left:
                bill.charge()
            break_off(request, failed=isinstance(error, Exception) and not left)
            raise
    return answer


def _bill(request: web.Request, status: int = 200) -> Bill | None:
    return request[BILLING].answer_with(status) if BILLING in request else None


def _answer(head: Mapping[str, str], body: bytes | AsyncGenerator[bytes, None], status: int) -> web.StreamResponse:
    """An answer that is sent in one write, with its head, if it fits into a piece."""
    if isinstance(body, bytes) and len(body) <= _PIECE:
        return web.Response(status=status, headers=head, body=body)
    answer = web.StreamResponse(status=status, headers=head)
    if isinstance(body, bytes):
        answer.content_length = len(body)
    return answer


async def deliver_while_made(
    request: web.Request, head: Mapping[str, str], first: bytes, rest: AsyncGenerator[bytes, None]
) -> web.StreamResponse:
    """Send an answer that is made while the caller reads: its ``first`` piece, then those of ``rest``.

    The charge is on disk before the end goes out. A caller that leaves or reads too slowly pays for all, since nobody
    can say how much of the sound it heard, and so does one whose request turns out to be wrong. The caller has as long
    to read as for a whole answer; the request's deadline waits meanwhile. If the server fails, it charges nothing and
    aborts the connection.
    """
    answer, context, sender, bill = web.StreamResponse(headers=head), request[CONTEXT], _Sender(request), _bill(request)
    async with aclosing(rest):
        if has_disconnected(request):
            raise ConnectionResetError("the caller has hung up")
        with current().tracer.span("answer"):
            try:
                await answer.prepare(request)
                context.extend(await sender.send(answer, first))
                async for piece in rest:
                    context.extend(await sender.send(answer, piece))
                if has_disconnected(request):
                    raise ConnectionResetError("the caller has hung up")
                if bill is not None:
                    bill.charge()
                await answer.write_eof()
            except BaseException as error:
                left = has_disconnected(request) or sender.is_late
                failed = isinstance(error, Exception) and not left
                if failed:
                    log.warning("an answer was broken off", extra={"fields": {"details": type(error).__name__}})
                break_off(request, failed=failed)
                is_wrong = isinstance(error, ApiError) and error.status < HTTPStatus.INTERNAL_SERVER_ERROR
                if bill is not None and sender.begun and (left or is_wrong):
                    bill.charge()
                raise
    return answer


class _Sender:
    """Sends pieces while the caller reads fast enough. The time in which the answer is made does not count."""

    def __init__(self, request: web.Request) -> None:
        settings = request.app[SETTINGS]
        self._request, self._rate, self._left = request, settings.min_answer_rate, settings.write_seconds
        # Whether a piece has gone out, and whether the caller was too slow for one.
        self.begun = self.is_late = False

    async def send(self, answer: web.StreamResponse, piece: bytes) -> float:
        """Send a piece, and return the seconds that it took. Raises ``TimeoutError`` if the caller is too slow."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._left += len(piece) / self._rate
        try:
            async with asyncio.timeout(self._left) as patience:
                for start in range(0, len(piece), _PIECE):
                    await answer.write(piece[start : start + _PIECE])
                    self.begun = True
                    await self._request.writer.drain()
        finally:
            self.is_late = patience.expired()
        seconds = loop.time() - began
        self._left -= seconds
        return seconds


async def _cut(body: bytes, end: int, memory: MemoryReservation) -> AsyncGenerator[bytes, None]:
    """Pieces of the body up to ``end``. The memory reservation shrinks as they go out."""
    for start in range(0, end, _PIECE):
        yield body[start : start + _PIECE]
        memory.resize(len(body) - start - _PIECE)
