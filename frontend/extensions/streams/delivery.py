"""Delivery of an answer that is made while the caller reads."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from http import HTTPStatus

from aiohttp import web

from frontend.errors import ApiError
from frontend.http.answers import CONTEXT, PIECE, SETTINGS, bill_of
from frontend.http.connection import break_off, has_disconnected
from frontend.observe.logs import log
from frontend.observe.record import current


async def deliver_while_made(
    request: web.Request, head: Mapping[str, str], first: bytes, rest: AsyncGenerator[bytes, None]
) -> web.StreamResponse:
    """Send an answer that is made while the caller reads: its ``first`` piece, then those of ``rest``.

    The charge is on disk before the end goes out. A caller that leaves or reads too slowly pays for all, since nobody
    can say how much of the sound it heard, and so does one whose request turns out to be wrong. The caller has as long
    to read as for a whole answer; the request's deadline waits meanwhile. If the server fails, it charges nothing and
    aborts the connection.
    """
    answer, context, sent, bill = web.StreamResponse(headers=head), request[CONTEXT], _Pieces(request), bill_of(request)
    async with aclosing(rest):
        if has_disconnected(request):
            raise ConnectionResetError("the caller has hung up")
        with current().tracer.span("answer"):
            try:
                await answer.prepare(request)
                context.extend(await sent.send(answer, first))
                async for piece in rest:
                    context.extend(await sent.send(answer, piece))
                if has_disconnected(request):
                    raise ConnectionResetError("the caller has hung up")
                if bill is not None:
                    bill.charge()
                await answer.write_eof()
            except BaseException as error:
                left = has_disconnected(request) or sent.is_late
                failed = isinstance(error, Exception) and not left
                if failed:
                    log.warning("an answer was broken off", extra={"fields": {"details": type(error).__name__}})
                break_off(request, failed=failed)
                is_wrong = isinstance(error, ApiError) and error.status < HTTPStatus.INTERNAL_SERVER_ERROR
                if bill is not None and sent.begun and (left or is_wrong):
                    bill.charge()
                raise
    return answer


class _Pieces:
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
                for start in range(0, len(piece), PIECE):
                    await answer.write(piece[start : start + PIECE])
                    self.begun = True
                    await self._request.writer.drain()
        finally:
            self.is_late = patience.expired()
        seconds = loop.time() - began
        self._left -= seconds
        return seconds
