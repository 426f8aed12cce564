"""Delivery of answers, each with the charge of its request. Whatever sends one itself asks for ``bill_of`` it."""

import asyncio
import math
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from aiohttp import web
from aiohttp.helpers import must_be_empty_body

from frontend.billing.bill import BILLING, Bill
from frontend.config.settings import Settings
from frontend.dispatch.context import RequestContext
from frontend.http.connection import break_off, has_disconnected
from frontend.http.memory import MemoryReservation
from frontend.observe.record import current

# Most bytes of an answer in the transport at once. aiohttp accepts this many without waiting.
PIECE = 48 * 1024

# Values that middlewares attach to a request. The headers are added to any answer.
HEADERS = web.RequestKey("headers", dict[str, str])
SETTINGS = web.AppKey("settings", Settings)
MEMORY_RESERVATION = web.RequestKey("memory_reservation", MemoryReservation)
CONTEXT = web.RequestKey("context", RequestContext)


async def deliver(
    request: web.Request,
    head: Mapping[str, str],
    body: bytes | AsyncGenerator[bytes, None],
    *,
    status: int = 200,
    is_ready: bool = False,
) -> web.StreamResponse:
    """Send an answer, from one buffer or as a stream, as fast as the caller reads.

    A stream ends at the request's deadline, unless its work ``is_ready``: then its reader has as long as for a buffer.

    The charge is on disk before the last piece goes out, or before the end of a stream. If the process dies, it has
    charged for a nearly complete answer or for none. A client that retries with the same request id is not charged
    again. A caller that disconnects after the first byte, or reads too slowly, pays. If the server fails, it charges
    nothing and aborts the connection: the client has no other way to notice.
    """
    answer, settings, bill = _answer(head, body, status), request.app[SETTINGS], bill_of(request, status)
    if isinstance(body, bytes):
        # A body that HTTP does not allow here would corrupt the connection's next answer.
        if must_be_empty_body(request.method, status):
            body = b""
        # Release the resources of the work before the caller reads.
        request[MEMORY_RESERVATION].closing.close()
        request[MEMORY_RESERVATION].resize(len(body))
        cut = (len(body) - 1) // PIECE * PIECE
        pieces, last = _cut(body, cut, request[MEMORY_RESERVATION]), body[cut:] if cut else b""
        rate = float(settings.min_answer_rate)
        seconds = settings.write_seconds + len(last) / rate
    else:
        pieces, last = body, b""
        seconds, rate = settings.write_seconds + request[CONTEXT].remaining(), math.inf
        if is_ready:
            seconds, rate = settings.write_seconds, float(settings.min_answer_rate)
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


def bill_of(request: web.Request, status: int = 200) -> Bill | None:
    """The bill that an answer with this status charges, if any."""
    return request[BILLING].answer_with(status) if BILLING in request else None


def _answer(head: Mapping[str, str], body: bytes | AsyncGenerator[bytes, None], status: int) -> web.StreamResponse:
    """An answer that is sent in one write, with its head, if it fits into a piece."""
    if isinstance(body, bytes) and len(body) <= PIECE:
        return web.Response(status=status, headers=head, body=body)
    answer = web.StreamResponse(status=status, headers=head)
    if isinstance(body, bytes):
        answer.content_length = len(body)
    return answer


async def _cut(body: bytes, end: int, memory: MemoryReservation) -> AsyncGenerator[bytes, None]:
    """Pieces of the body up to ``end``. The memory reservation shrinks as they go out."""
    for start in range(0, end, PIECE):
        yield body[start : start + PIECE]
        memory.resize(len(body) - start - PIECE)
