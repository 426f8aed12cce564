"""POST /v1/embeddings."""

from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
from aiohttp import web
from numpy.typing import NDArray

from frontend.app_keys import BILLING, CONTEXT, EMBEDDINGS, JSON_BODIES, MEMORY_RESERVATION
from frontend.http.answers import deliver
from frontend.http.json import Converts
from frontend.http.rendering import JSON, render_json
from frontend.operations.embeddings import protocol
from frontend.operations.embeddings.protocol import EmbeddingRequest

# Builds the answer's JSON from the vectors, the tokens and the request.
Renders = Callable[[NDArray[np.float32], int, EmbeddingRequest], Any]
# What computes and writes the answers that have other outputs than vectors alone, by ``outputs``.
OTHER_OUTPUTS: web.AppKey[dict[tuple[str, ...], Callable[[web.Request, EmbeddingRequest], Awaitable[bytes]]]] = (
    web.AppKey("other outputs of embeddings")
)


async def answer(request: web.Request, parses: Converts[EmbeddingRequest], renders: Renders) -> web.StreamResponse:
    """Embed what the request asks for, and deliver what ``renders`` makes of the vectors."""
    context = request[CONTEXT]
    parsed = await request.app[JSON_BODIES].read(request, request[MEMORY_RESERVATION], context, parses)
    if others := request.app[OTHER_OUTPUTS].get(parsed.outputs):
        return await deliver(request, JSON, await others(request, parsed))
    vectors, tokens = await request.app[EMBEDDINGS].run(parsed, context, request[BILLING].reserve)
    return await deliver(request, JSON, render_json(renders(vectors, tokens, parsed)))


async def embed(request: web.Request) -> web.StreamResponse:
    return await answer(request, protocol.parse_openai, protocol.render_openai)


ROUTES = [web.post("/v1/embeddings", embed)]
