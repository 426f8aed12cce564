"""POST /v1/chat/completions and /v1/responses, if an upstream is set."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from functools import partial
from typing import Any, TypeVar

from aiohttp import web

from frontend.app_keys import BILLING, CALLER, CONTEXT, JSON_BODIES, MEMORY_RESERVATION, SETTINGS, TEXT
from frontend.billing.bill import Bill
from frontend.catalogue.models import CHAT as MODEL
from frontend.errors import InvalidRequest
from frontend.extensions.chat import protocol
from frontend.extensions.chat.metering import StreamMeter, estimate, usage_of
from frontend.extensions.chat.pipeline import ChatPipeline, TooLongAnswer
from frontend.http.answers import deliver
from frontend.http.json import INLINE_BYTES, read_bytes
from frontend.http.rendering import JSON

PIPELINE = web.AppKey("chat", ChatPipeline)

T = TypeVar("T")
_NO_REFERENCES = (
    "an organisation with a balance can send text alone: what pictures, sounds, files and stored messages cost is not "
    "known beforehand"
)
# Bytes of a stream that are read at once: of lines without content, two milliseconds.
_SLICE_BYTES = 8 * 1024
_STREAMED = {"Content-Type": protocol.STREAM, "Cache-Control": "no-cache"}


async def forward(request: web.Request) -> web.StreamResponse:
    """Forward the body to the upstream and its answer to the client."""
    settings, context = request.app[SETTINGS], request[CONTEXT]
    path, prepaid = request.path.removeprefix("/v1"), bool(request[CALLER].payer and settings.prices[MODEL].micro_chf)
    body: bytes | bytearray = await read_bytes(request, settings, request[MEMORY_RESERVATION])
    parse = partial(protocol.parse, path=path, prepaid=prepaid)
    options = await request.app[JSON_BODIES].parse(body, context, parse)
    usual, each = settings.chat_output_tokens, settings.chat_reference_tokens
    if options.references and not each:
        raise InvalidRequest(_NO_REFERENCES)
    most = options.most_tokens(len(body), usual, each)
    if prepaid and not options.is_bounded:
        body = await _offload(request, len(body), partial(protocol.with_maximum, path, usual), body)
    adds_usage = protocol.adds_usage(path, options, prepaid=prepaid)
    extended = await _offload(request, len(body), protocol.with_usage, body) if adds_usage else None
    request[MEMORY_RESERVATION].resize(len(body) + len(extended or b""))
    async with request[BILLING].reserve(MODEL, most) as bill:
        async with request.app[PIPELINE].run(path, body, extended, context, streamed=options.stream) as (kind, pieces):
            if kind == protocol.STREAM:
                meter = StreamMeter(options.text_bytes, hides_usage=adds_usage)
                return await deliver(request, _STREAMED, _metered(pieces, meter, bill))
            answer = await _whole(request, pieces)
        # Release the memory before a slow caller reads the answer.
        del body, extended
        usage = await _offload(request, len(answer), usage_of, answer)
        usage.note()
        bill.settle(estimate(options.text_bytes + usage.text_bytes) if usage.tokens is None else usage.tokens)
    return await deliver(request, JSON, answer)


async def _offload(request: web.Request, size: int, function: Callable[[Any], T], data: Any) -> T:
    """Run a function of ``size`` bytes of data, in another process if it would take long."""
    if size <= INLINE_BYTES:
        return function(data)
    result: T = await request.app[TEXT].run(request[CONTEXT], function, data)
    return result


async def _whole(request: web.Request, pieces: AsyncIterator[bytes]) -> bytes:
    data = bytearray()
    async for piece in pieces:
        request[MEMORY_RESERVATION].add(len(piece))
        data += piece
    return bytes(data)


async def _metered(pieces: AsyncIterator[bytes], meter: StreamMeter, bill: Bill) -> AsyncGenerator[bytes, None]:
    """The stream for the client. However it ends, the bill covers what was received."""
    try:
        async for piece in pieces:
            lines = bytearray()
            for start in range(0, len(piece), _SLICE_BYTES):
                lines += meter.feed(piece[start : start + _SLICE_BYTES])
                # Yield, or a fast upstream would keep this loop from ever suspending.
                await asyncio.sleep(0)
            if lines:
                yield bytes(lines)
        if rest := meter.rest():
            yield rest
        meter.usage.note()
    except TooLongAnswer:
        # The client has asked for so much, and has read it.
        bill.settle(meter.tokens)
        bill.charge()
        raise
    finally:
        bill.settle(meter.tokens)


ROUTES = [web.post("/v1/chat/completions", forward), web.post("/v1/responses", forward)]
