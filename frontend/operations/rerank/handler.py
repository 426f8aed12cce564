"""POST /v1/rerank, and with an extension /v2/rerank and /rerank."""

from collections.abc import Callable
from typing import Any

from aiohttp import web

from frontend.app_keys import BILLING, CONTEXT, JSON_BODIES, MEMORY_RESERVATION, RERANK
from frontend.catalogue.extensions import RERANK_DIALECTS
from frontend.catalogue.models import Served
from frontend.extensions.dialects import rerank as dialects
from frontend.http.answers import deliver
from frontend.http.json import Converts
from frontend.http.rendering import JSON, render_json
from frontend.observe.logs import request_id
from frontend.operations.rerank import protocol
from frontend.operations.rerank.protocol import RerankRequest
from frontend.usage.bill import Bill

# Builds the answer's JSON from (index, score), the tokens and the request.
_Renders = Callable[[list[tuple[int, float]], int, RerankRequest], Any]


async def _order(request: web.Request, parses: Converts[RerankRequest], renders: _Renders) -> tuple[bytes, Bill]:
    context = request[CONTEXT]
    parsed = await request.app[JSON_BODIES].read(request, request[MEMORY_RESERVATION], context, parses)
    ranking, tokens, bill = await request.app[RERANK].run(parsed, context, request[BILLING].reserve)
    return render_json(renders(ranking, tokens, parsed)), bill


async def rerank(request: web.Request) -> web.StreamResponse:
    return await deliver(request, JSON, *await _order(request, protocol.parse, protocol.render))


async def rerank_cohere(request: web.Request) -> web.StreamResponse:
    def renders(ranking: list[tuple[int, float]], tokens: int, parsed: RerankRequest) -> Any:
        return dialects.render_cohere(ranking, tokens, parsed, request_id.get())

    return await deliver(request, JSON, *await _order(request, dialects.parse_cohere, renders))


async def rerank_plain(request: web.Request) -> web.StreamResponse:
    return await deliver(request, JSON, *await _order(request, dialects.parse_plain, dialects.render_plain))


def routes(served: Served) -> list[web.RouteDef]:
    of_clients = [web.post("/v2/rerank", rerank_cohere), web.post("/rerank", rerank_plain)]
    return [web.post("/v1/rerank", rerank), *(of_clients if RERANK_DIALECTS in served.extensions else [])]
