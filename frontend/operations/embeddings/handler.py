"""POST /v1/embeddings."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import Any

import numpy as np
from aiohttp import web
from numpy.typing import NDArray

from frontend.app_keys import BILLING, CONTEXT, EMBEDDINGS, JSON_BODIES, MEMORY_RESERVATION
from frontend.http.answers import deliver
from frontend.http.json import Converts
from frontend.http.rendering import JSON, render_json
from frontend.operations.batches import count_batch
from frontend.operations.embeddings import protocol
from frontend.operations.embeddings.protocol import EmbeddingRequest
from frontend.parameters.embeddings import MOST_INPUTS

# Builds the answer's JSON from the vectors, the tokens and the request. The index of the first vector is the last.
Renders = Callable[[NDArray[np.float32], int, EmbeddingRequest, int], Any]
# What computes and writes the answers that have other outputs than vectors alone, by ``outputs``.
OTHER_OUTPUTS: web.AppKey[dict[tuple[str, ...], Callable[[web.Request, EmbeddingRequest], Awaitable[bytes]]]] = (
    web.AppKey("other outputs of embeddings")
)
# Numbers whose JSON, of 13 bytes each, is not longer than a piece of an answer.
_NUMBERS_AT_ONCE = 3072


async def answer(
    request: web.Request, parses: Converts[EmbeddingRequest], renders: Renders, *, compares: bool = False
) -> web.StreamResponse:
    """Embed what the request asks for, and deliver what ``renders`` makes of the vectors.

    The answer has an item by vector, and many are rendered while they are read, which takes less memory. But one that
    ``compares`` the first text with the others is whole, and counts the others.
    """
    context, memory = request[CONTEXT], request[MEMORY_RESERVATION]
    parsed = await request.app[JSON_BODIES].read(request, memory, context, parses)
    if others := request.app[OTHER_OUTPUTS].get(parsed.outputs):
        return await deliver(request, JSON, await others(request, parsed))
    await count_batch(request, len(parsed.texts) - compares)
    vectors, tokens = await request.app[EMBEDDINGS].run(parsed, context, request[BILLING].reserve, memory)
    if compares or len(vectors) <= MOST_INPUTS:
        return await deliver(request, JSON, render_json(renders(vectors, tokens, parsed, 0)))
    # Only the vectors are needed from here on.
    parsed.texts.clear()
    memory.resize(vectors.nbytes)
    return await deliver(request, JSON, _pieces(vectors, partial(_items, renders, tokens, parsed)), is_ready=True)


def _items(renders: Renders, tokens: int, request: EmbeddingRequest, vectors: NDArray[np.float32], first: int) -> bytes:
    return render_json(renders(vectors, tokens, request, first))


async def _pieces(
    vectors: NDArray[np.float32], renders: Callable[[NDArray[np.float32], int], bytes]
) -> AsyncGenerator[bytes, None]:
    """The JSON of all vectors, whose items are in the first array of what is rendered for none."""
    before, after = renders(vectors[:0], 0).split(b"[]", 1)
    yield before + b"["
    at_once = max(1, _NUMBERS_AT_ONCE // vectors.shape[1])
    for first in range(0, len(vectors), at_once):
        items = renders(vectors[first : first + at_once], first)
        yield (b"," if first else b"") + items[len(before) + 1 : -1 - len(after)]
    yield b"]" + after


async def embed(request: web.Request) -> web.StreamResponse:
    return await answer(request, protocol.parse_openai, protocol.render_openai)


ROUTES = [web.post("/v1/embeddings", embed)]
