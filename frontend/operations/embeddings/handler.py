"""POST /v1/embeddings, and with an extension /embed and /similarity."""

from collections.abc import Callable
from typing import Any

import numpy as np
from aiohttp import web
from numpy.typing import NDArray

from frontend.app_keys import BILLING, CONTEXT, EMBEDDINGS, JSON_BODIES, MEMORY_RESERVATION
from frontend.catalogue.extensions import RERANK_DIALECTS
from frontend.catalogue.models import Served
from frontend.extensions.dialects import embeddings as dialects
from frontend.http.answers import deliver
from frontend.http.json import Converts
from frontend.http.rendering import JSON, render_json
from frontend.operations.embeddings import protocol
from frontend.operations.embeddings.protocol import EmbeddingRequest
from frontend.usage.bill import Bill

# Builds the answer's JSON from the vectors, the tokens and the request.
_Renders = Callable[[NDArray[np.float32], int, EmbeddingRequest], Any]


async def _vectors(request: web.Request, parses: Converts[EmbeddingRequest], renders: _Renders) -> tuple[bytes, Bill]:
    context = request[CONTEXT]
    parsed = await request.app[JSON_BODIES].read(request, request[MEMORY_RESERVATION], context, parses)
    vectors, tokens, bill = await request.app[EMBEDDINGS].run(parsed, context, request[BILLING].reserve)
    return render_json(renders(vectors, tokens, parsed)), bill


async def embed(request: web.Request) -> web.StreamResponse:
    return await deliver(request, JSON, *await _vectors(request, protocol.parse_openai, protocol.render_openai))


async def embed_tei(request: web.Request) -> web.StreamResponse:
    return await deliver(request, JSON, *await _vectors(request, dialects.parse_embed, dialects.render_embed))


async def compare_tei(request: web.Request) -> web.StreamResponse:
    return await deliver(request, JSON, *await _vectors(request, dialects.parse_similarity, dialects.render_similarity))


def routes(served: Served) -> list[web.RouteDef]:
    of_clients = [web.post("/embed", embed_tei), web.post("/similarity", compare_tei)]
    return [web.post("/v1/embeddings", embed), *(of_clients if RERANK_DIALECTS in served.extensions else [])]
