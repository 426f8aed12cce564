"""POST /v1/chat/completions and /v1/responses, where an upstream is set."""

import aiohttp
from aiohttp import web

from frontend.http.json import read_bytes
from frontend.keys import CHAT, HOLDING, JSON_BODIES, SETTINGS, TURN
from frontend.operations.chat import protocol

_STREAM = "text/event-stream"


async def forward(request: web.Request) -> web.StreamResponse:
    """The body goes to the upstream as it is, and the upstream's answer to the client."""
    body = await read_bytes(request, request.app[SETTINGS], request[HOLDING])
    await request.app[JSON_BODIES].parse(body, request[TURN], protocol.check)
    parsed = protocol.ChatRequest(request.path.removeprefix("/v1"), body)
    async with request.app[CHAT].run(parsed, request[TURN]) as upstream:
        if upstream.content_type == _STREAM:
            return await _relay(request, upstream)
        return web.Response(body=await upstream.read(), content_type="application/json")


async def _relay(request: web.Request, upstream: aiohttp.ClientResponse) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": _STREAM, "Cache-Control": "no-cache"})
    await response.prepare(request)
    try:
        async for piece in upstream.content.iter_any():
            await response.write(piece)
    except (aiohttp.ClientError, TimeoutError):
        # The answer has begun: all that can still tell the client is a connection that breaks off.
        if request.transport is not None:
            request.transport.abort()
    return response


ROUTES = [web.post("/v1/chat/completions", forward), web.post("/v1/responses", forward)]
