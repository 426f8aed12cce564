"""POST /v1/embeddings."""

from aiohttp import web

from frontend.app_keys import BILLING, CONTEXT, EMBEDDINGS, JSON_BODIES, MEMORY_RESERVATION
from frontend.http.answers import deliver
from frontend.http.rendering import JSON, render_json
from frontend.operations.embeddings import protocol
from frontend.usage.bill import Bill


async def _vectors(request: web.Request) -> tuple[bytes, Bill]:
    context = request[CONTEXT]
    parsed = await request.app[JSON_BODIES].read(request, request[MEMORY_RESERVATION], context, protocol.parse_openai)
    vectors, tokens, bill = await request.app[EMBEDDINGS].run(parsed, context, request[BILLING].reserve)
    return render_json(protocol.render_openai(vectors, tokens, parsed)), bill


async def embed(request: web.Request) -> web.StreamResponse:
    return await deliver(request, JSON, *await _vectors(request))


ROUTES = [web.post("/v1/embeddings", embed)]
