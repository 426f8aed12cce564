"""POST /v1/rerank."""

from aiohttp import web

from frontend.app_keys import BILLING, CONTEXT, JSON_BODIES, MEMORY_RESERVATION, RERANK
from frontend.http.answers import deliver
from frontend.http.rendering import JSON, render_json
from frontend.operations.rerank import protocol
from frontend.usage.bill import Bill


async def _order(request: web.Request) -> tuple[bytes, Bill]:
    context = request[CONTEXT]
    parsed = await request.app[JSON_BODIES].read(request, request[MEMORY_RESERVATION], context, protocol.parse)
    ranking, tokens, bill = await request.app[RERANK].run(parsed, context, request[BILLING].reserve)
    return render_json(protocol.render(ranking, tokens, parsed)), bill


async def rerank(request: web.Request) -> web.StreamResponse:
    return await deliver(request, JSON, *await _order(request))


ROUTES = [web.post("/v1/rerank", rerank)]
