"""POST /v1/chat/completions and /v1/responses, where an upstream is set."""

from aiohttp import web

from frontend.app_keys import BILL, CHAT, HOLDING, JSON_BODIES, SETTINGS, TEXT, TURN
from frontend.catalogue.models import CHAT as MODEL
from frontend.http.answers import sending
from frontend.http.json import INLINE_BYTES, read_bytes
from frontend.operations.chat import protocol
from frontend.operations.chat.metering import StreamMeter, estimate, tokens_of
from frontend.operations.chat.pipeline import ChatAnswer
from frontend.usage.bill import Bill

_STREAM = "text/event-stream"


async def forward(request: web.Request) -> web.StreamResponse:
    """The body goes to the upstream as it is, and the upstream's answer to the client."""
    settings, turn = request.app[SETTINGS], request[TURN]
    body = await read_bytes(request, settings, request[HOLDING])
    wishes = await request.app[JSON_BODIES].parse(body, turn, protocol.parse)
    # No more tokens than bytes come from the request.
    await request[BILL].reserve(MODEL, len(body) + (wishes.output_tokens or settings.chat_output_tokens))
    path = request.path.removeprefix("/v1")
    async with request.app[CHAT].run(protocol.outgoing(path, body, wishes), turn) as answer:
        if answer.content_type == _STREAM:
            meter = StreamMeter(len(body), hides=protocol.asks_for_usage(path, wishes))
            return await _relay(request, answer, meter)
        return await _whole(request, answer, len(body))


async def _whole(request: web.Request, answer: ChatAnswer, request_size: int) -> web.Response:
    data = bytearray()
    async for piece in answer.pieces:
        request[HOLDING].add(len(piece))
        data += piece
    told = bytes(data)
    inline = len(told) <= INLINE_BYTES
    tokens = tokens_of(told) if inline else await request.app[TEXT].run(request[TURN], tokens_of, told)
    request[BILL].settle(estimate(request_size + len(told)) if tokens is None else tokens)
    return web.Response(body=told, content_type="application/json")


class _Metered:
    """Charges for what a stream has cost when it ends."""

    def __init__(self, bill: Bill, meter: StreamMeter) -> None:
        self._bill, self._meter = bill, meter

    def charge(self) -> None:
        self._bill.settle(self._meter.tokens)
        self._bill.charge()


async def _relay(request: web.Request, upstream: ChatAnswer, meter: StreamMeter) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": _STREAM, "Cache-Control": "no-cache"})
    seconds = request[TURN].remaining() + request.app[SETTINGS].write_seconds
    async with sending(request, answer, _Metered(request[BILL], meter), seconds) as write:
        async for piece in upstream.pieces:
            if goes_on := meter.feed(piece):
                await write(goes_on)
        if rest := meter.rest():
            await write(rest)
    return answer


ROUTES = [web.post("/v1/chat/completions", forward), web.post("/v1/responses", forward)]
