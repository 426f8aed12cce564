"""Texts to vectors: tokenize, pack, one row per text."""

import asyncio
from functools import partial

import numpy as np
from numpy.typing import NDArray

from frontend.billing.bill import Reserves
from frontend.catalogue.models import EMBEDDINGS
from frontend.config.settings import Settings
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.http.memory import MemoryReservation
from frontend.operations.embeddings.protocol import EmbeddingRequest
from frontend.operations.packed_model import PackedModel, Weights
from frontend.parameters.embeddings import MOST_INPUTS
from frontend.text.tokens import Ids

OUTPUT = "embedding"
_NUMBER_BYTES = np.dtype(np.float32).itemsize


class EmbeddingPipeline:
    """Embeds texts with packed embedders on Triton."""

    def __init__(self, settings: Settings, dispatcher: Dispatcher, threads: WorkerQueue) -> None:
        self._models = {
            name: PackedModel(dispatcher, threads, model, OUTPUT, (model.width,), settings)
            for name, model in settings.served.by_id(EMBEDDINGS).items()
        }
        self._served = settings.served.by_id(EMBEDDINGS)

    async def run(
        self, request: EmbeddingRequest, context: RequestContext, reserve: Reserves, memory: MemoryReservation
    ) -> tuple[NDArray[np.float32], int]:
        """Unit vectors float32 [texts, width or dimensions] in order, and the total tokens."""
        # The answer is held besides, as long as it is not read.
        memory.add(len(request.texts) * self._served[request.model].width * _NUMBER_BYTES)
        ids = await self.tokenize(request, context, memory)
        tokens = sum(map(len, ids))
        async with reserve(request.model, tokens):
            return await _shortened(await self._models[request.model].rows(ids, context), request.dimensions), tokens

    def unweighted(self, model: str) -> list[int] | None:
        """The tokens to which a model gives no weight, or None if it weighs none."""
        return self._models[model].tokenizer.unweighted

    async def weigh(
        self, request: EmbeddingRequest, ids: list[Ids], context: RequestContext
    ) -> tuple[NDArray[np.float32], list[Weights]]:
        """The vectors of texts with these token ids, and the weights of each text's tokens, float32 [tokens]."""
        vectors, weights = await self._models[request.model].weighed(ids, context)
        return shortened(vectors, request.dimensions), weights

    async def tokenize(
        self, request: EmbeddingRequest, context: RequestContext, memory: MemoryReservation
    ) -> list[Ids]:
        """The token ids of each text, with what the model has before queries or documents."""
        texts, model = request.texts, self._models[request.model]
        served = self._served[request.model]
        if prefix := served.query_prefix if request.is_query else served.document_prefix:
            texts = [prefix + text for text in texts]
        function = partial(model.tokenizer.texts, truncate=request.truncate)
        return await model.tokenize(function, texts, context, memory)


async def _shortened(vectors: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """The same as ``shortened``, some vectors at a time: many would hold the event loop."""
    if not dimensions or len(vectors) <= MOST_INPUTS:
        return shortened(vectors, dimensions)
    short = np.empty((len(vectors), dimensions), np.float32)
    for start in range(0, len(vectors), MOST_INPUTS):
        short[start : start + MOST_INPUTS] = shortened(vectors[start : start + MOST_INPUTS], dimensions)
        await asyncio.sleep(0)
    return short


def shortened(vectors: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """The first ``dimensions`` numbers of vectors [texts, width], at length 1; all without ``dimensions``.

    For models of Matryoshka representation learning (Kusupati et al. 2022).
    """
    if not dimensions:
        return vectors
    first = vectors[:, :dimensions]
    # A vector of zeros stays one.
    unit: NDArray[np.float32] = first / np.maximum(np.linalg.norm(first, axis=1, keepdims=True), np.float32(1e-12))
    return unit
