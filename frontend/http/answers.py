"""Answers on their way out: the one place where an answer is delivered and what it costs is charged."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from aiohttp import web

from frontend.config.settings import Settings
from frontend.http.connection import has_hung_up
from frontend.http.held import Holding

# The transport holds one piece of an answer at most. It is less than aiohttp hands over without waiting.
_PIECE = 48 * 1024

# The answer for which something will be charged as it goes out.
CHARGED = web.RequestKey("charged", web.StreamResponse)
Write = Callable[[bytes | memoryview], Awaitable[None]]


class Charges(Protocol):
    """What an answer costs."""

    def charge(self) -> None:
        """From here on it is owed; where nothing is open, nothing happens."""


async def deliver(
    request: web.Request, made: web.Response, charges: Charges, holding: Holding, settings: Settings
) -> web.StreamResponse:
    """Send an answer from its one buffer, piece by piece, as fast as the caller reads."""
    assert isinstance(made.body, bytes | bytearray)
    body = memoryview(made.body)
    answer = web.StreamResponse(status=made.status, headers=made.headers)
    answer.content_length = len(body)
    # What made the answer is not needed any more.
    holding.closing.close()
    holding.keep(len(body))
    last = max(0, len(body) - 1) // _PIECE * _PIECE
    seconds = settings.write_seconds + len(body) / settings.min_answer_rate
    async with sending(request, answer, charges, seconds, bytes(body[last:])) as write:
        for start in range(0, last, _PIECE):
            await write(body[start : start + _PIECE])
            holding.keep(len(body) - start - _PIECE)
    return answer


@asynccontextmanager
async def sending(
    request: web.Request, answer: web.StreamResponse, charges: Charges, seconds: float, last: bytes = b""
) -> AsyncIterator[Write]:
    """Send what is written within, and then ``last``, in ``seconds`` at most; it is charged for as follows.

    The charge is on disk just before the last piece goes out. So a process that dies has charged for an answer that is
    whole but for its end, or for none, and a client that repeats its request under the same id is not charged again. A
    caller who hangs up after the first byte, or reads too slowly, pays. Where we break off, nothing is owed, and the
    connection breaks off too: nothing else can still tell the client.
    """
    request[CHARGED] = answer
    await answer.prepare(request)
    begun = False

    async def write(piece: bytes | memoryview) -> None:
        nonlocal begun
        await answer.write(piece)
        begun = True
        await request.writer.drain()

    deadline = asyncio.timeout(seconds)
    try:
        async with deadline:
            yield write
            if has_hung_up(request):
                raise ConnectionResetError("the caller has hung up")
            charges.charge()
            await answer.write_eof(last)
    except BaseException:
        if begun and (has_hung_up(request) or deadline.expired()):
            charges.charge()
        if request.transport is not None:
            request.transport.abort()
        raise
