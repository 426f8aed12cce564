"""POST /v1/chat/completions and /v1/responses, where an upstream is set."""

from collections.abc import AsyncGenerator, AsyncIterator

from aiohttp import web

from frontend.app_keys import BILLING, CHAT, HOLDING, JSON_BODIES, SETTINGS, TEXT, TURN
from frontend.catalogue.models import CHAT as MODEL
from frontend.http.answers import deliver
from frontend.http.json import INLINE_BYTES, read_bytes
from frontend.http.rendering import JSON
from frontend.operations.chat import protocol
from frontend.operations.chat.metering import StreamMeter, estimate, tokens_of
from frontend.usage.bill import Bill

_STREAMED = {"Content-Type": protocol.STREAM, "Cache-Control": "no-cache"}


async def forward(request: web.Request) -> web.StreamResponse:
    """The body goes to the upstream as it is, and the upstream's answer to the client."""
    settings, turn = request.app[SETTINGS], request[TURN]
    body = await read_bytes(request, settings, request[HOLDING])
    wishes = await request.app[JSON_BODIES].parse(body, turn, protocol.parse)
    path, size = request.path.removeprefix("/v1"), len(body)
    # No more tokens than bytes come from the request.
    most = size + (wishes.output_tokens or settings.chat_output_tokens)
    async with request[BILLING].reserve(MODEL, most) as bill:
        sent = protocol.outgoing(path, body, wishes)
        async with request.app[CHAT].run(path, sent, turn, streamed=wishes.stream) as (kind, pieces):
            if kind == protocol.STREAM:
                meter = StreamMeter(size, hides=protocol.asks_for_usage(path, wishes))
                return await deliver(request, _STREAMED, _metered(pieces, meter, bill), bill)
            told = await _whole(request, pieces)
        # It is not held while a slow caller reads.
        del body, sent
        bill.settle(await _tokens(request, told, size))
    return await deliver(request, JSON, told, bill)


async def _whole(request: web.Request, pieces: AsyncIterator[bytes]) -> bytes:
    data = bytearray()
    async for piece in pieces:
        request[HOLDING].add(len(piece))
        data += piece
    return bytes(data)


async def _tokens(request: web.Request, told: bytes, request_size: int) -> int:
    inline = len(told) <= INLINE_BYTES
    tokens = tokens_of(told) if inline else await request.app[TEXT].run(request[TURN], tokens_of, told)
    return estimate(request_size + len(told)) if tokens is None else tokens


async def _metered(pieces: AsyncIterator[bytes], meter: StreamMeter, bill: Bill) -> AsyncGenerator[bytes, None]:
    """What of a stream goes on; when it ends, wherever that is, its bill is for what came."""
    try:
        async for piece in pieces:
            if goes_on := meter.feed(piece):
                yield goes_on
        if rest := meter.rest():
            yield rest
    finally:
        bill.settle(meter.tokens)


ROUTES = [web.post("/v1/chat/completions", forward), web.post("/v1/responses", forward)]
