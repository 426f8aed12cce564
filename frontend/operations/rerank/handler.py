"""POST /v1/rerank."""

from collections.abc import Callable
from typing import Any

from aiohttp import web

from frontend.app_keys import BILLING, CONTEXT, JSON_BODIES, MEMORY_RESERVATION, RERANK
from frontend.http.answers import deliver
from frontend.http.json import Converts
from frontend.http.rendering import JSON, render_json
from frontend.operations.batches import count_batch
from frontend.operations.rerank import protocol
from frontend.operations.rerank.protocol import RerankRequest

# Builds the answer's JSON from (index, score), the tokens and the request.
Renders = Callable[[list[tuple[int, float]], int, RerankRequest], Any]


async def answer(request: web.Request, parses: Converts[RerankRequest], renders: Renders) -> web.StreamResponse:
    """Order what the request asks for, and deliver what ``renders`` makes of the ranking."""
    context, memory = request[CONTEXT], request[MEMORY_RESERVATION]
    parsed = await request.app[JSON_BODIES].read(request, memory, context, parses)
    await count_batch(request, len(parsed.documents))
    ranking, tokens = await request.app[RERANK].run(parsed, context, request[BILLING].reserve, memory)
    return await deliver(request, JSON, render_json(renders(ranking, tokens, parsed)))


async def rerank(request: web.Request) -> web.StreamResponse:
    return await answer(request, protocol.parse, protocol.render)


ROUTES = [web.post("/v1/rerank", rerank)]
