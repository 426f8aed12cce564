"""``outputs`` of embeddings with ``sparse``."""

from contextlib import AsyncExitStack

from aiohttp import web

from frontend.app_keys import BILLING, CONTEXT, EMBEDDINGS, MEMORY_RESERVATION, THREADS
from frontend.catalogue.extensions import SPARSE_EMBEDDINGS
from frontend.errors import InvalidRequest
from frontend.extensions.sparse.vectors import write
from frontend.operations.embeddings.handler import OTHER_OUTPUTS
from frontend.operations.embeddings.protocol import EmbeddingRequest
from frontend.parameters.embeddings import DENSE
from frontend.parameters.embeddings import SPARSE as WEIGHTS
from frontend.rings import Ring

# Memory for each token: its id and weight, twice, and their JSON.
_TOKEN_BYTES = 48
# The most tokens whose weights are written on the event loop.
_INLINE_TOKENS = 2048


async def _answer(request: web.Request, parsed: EmbeddingRequest) -> bytes:
    pipeline, context = request.app[EMBEDDINGS], request[CONTEXT]
    if (unweighted := pipeline.unweighted(parsed.model)) is None:
        raise InvalidRequest(f'{parsed.model} has no sparse weights, so outputs must be ["dense"]', param="outputs")
    ids = await pipeline.tokenize(parsed, context, request[MEMORY_RESERVATION])
    tokens = sum(map(len, ids))
    request[MEMORY_RESERVATION].add(_TOKEN_BYTES * tokens)
    async with request[BILLING].reserve(parsed.model, tokens):
        vectors, weights = await pipeline.weigh(parsed, ids, context)
        if tokens <= _INLINE_TOKENS:
            return write(parsed, vectors, ids, weights, unweighted)
        return await request.app[THREADS].run(context, write, parsed, vectors, ids, weights, unweighted)


async def _start(app: web.Application, closing: AsyncExitStack) -> None:
    app[OTHER_OUTPUTS].update(dict.fromkeys([(WEIGHTS,), (DENSE, WEIGHTS)], _answer))


SPARSE = Ring(is_on=lambda settings: SPARSE_EMBEDDINGS in settings.served.extensions, start=_start)
