"""Answers on their way out: the one place where an answer is delivered and what it costs is charged."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Protocol

from aiohttp import web
from aiohttp.helpers import must_be_empty_body

from frontend.config.settings import Settings
from frontend.dispatch.context import RequestContext
from frontend.http.connection import has_hung_up
from frontend.http.held import Holding
from frontend.observe.record import current

# The transport holds one piece of an answer at most. It is less than aiohttp hands over without waiting.
_PIECE = 48 * 1024

# What a request has from its middlewares, for whoever reads its body or delivers its answer.
SETTINGS = web.AppKey("settings", Settings)
HOLDING = web.RequestKey("holding", Holding)
CONTEXT = web.RequestKey("turn", RequestContext)
# The answer for which something will be charged as it goes out.
CHARGED = web.RequestKey("charged", web.StreamResponse)


class Charges(Protocol):
    """What an answer costs."""

    def charge(self) -> None:
        """From here on it is owed; a second time changes nothing."""


async def deliver(
    request: web.Request,
    head: Mapping[str, str],
    body: bytes | AsyncGenerator[bytes, None],
    bill: Charges | None = None,
    *,
    status: int = 200,
) -> web.StreamResponse:
    """Send an answer, from its one buffer or as it comes, as fast as the caller reads.

    The charge is on disk just before the last piece goes out, or before the end of what comes in pieces. So a process
    that dies has charged for an answer that is whole but for its end, or for none, and a client that repeats its
    request under the same id is not charged again. A caller who hangs up after the first byte, or reads too slowly,
    pays. Where we break off, nothing is owed, and the connection breaks off too: nothing else can tell the client.
    """
    answer, settings = web.StreamResponse(status=status, headers=head), request.app[SETTINGS]
    if isinstance(body, bytes):
        answer.content_length = len(body)
        # The connection's next answer would be misread behind a body that HTTP does not allow here.
        if must_be_empty_body(request.method, status):
            body = b""
        # What made the answer is not needed any more.
        request[HOLDING].closing.close()
        request[HOLDING].keep(len(body))
        cut = max(0, len(body) - 1) // _PIECE * _PIECE
        pieces, last = _cut(body, cut, request[HOLDING]), body[cut:]
        seconds = settings.write_seconds + len(body) / settings.min_answer_rate
    else:
        pieces, last = body, b""
        seconds = settings.write_seconds + request[CONTEXT].remaining()
    if bill is not None:
        request[CHARGED] = answer
    with current().tracer.span("answer"):
        await answer.prepare(request)
        begun, deadline = False, asyncio.timeout(seconds)
        try:
            async with deadline, aclosing(pieces):
                async for piece in pieces:
                    await answer.write(piece)
                    begun = True
                    await request.writer.drain()
                if has_hung_up(request):
                    raise ConnectionResetError("the caller has hung up")
                if bill is not None:
                    bill.charge()
                await answer.write_eof(last)
        except BaseException:
            if bill is not None and begun and (has_hung_up(request) or deadline.expired()):
                bill.charge()
            if request.transport is not None:
                request.transport.abort()
            raise
    return answer


async def _cut(body: bytes, end: int, holding: Holding) -> AsyncGenerator[bytes, None]:
    """Pieces of the body up to ``end``; of what the request holds, the rest of the body is left."""
    for start in range(0, end, _PIECE):
        yield body[start : start + _PIECE]
        holding.keep(len(body) - start - _PIECE)
