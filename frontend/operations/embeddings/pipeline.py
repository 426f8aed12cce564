"""Texts to vectors: tokenize, pack, one row per text."""

import numpy as np
from numpy.typing import NDArray

from frontend.billing.bill import Reserves
from frontend.catalogue.models import EMBEDDINGS
from frontend.config.settings import Settings
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.operations.embeddings.protocol import EmbeddingRequest
from frontend.operations.packed_model import PackedModel, Weights
from frontend.text.tokens import Ids

OUTPUT = "embedding"


class EmbeddingPipeline:
    """Embeds texts with packed embedders on Triton."""

    def __init__(self, settings: Settings, dispatcher: Dispatcher, threads: WorkerQueue) -> None:
        self._models = {
            name: PackedModel(dispatcher, threads, model, OUTPUT, (model.width,), settings)
            for name, model in settings.served.by_id(EMBEDDINGS).items()
        }
        self._served = settings.served.by_id(EMBEDDINGS)

    async def run(
        self, request: EmbeddingRequest, context: RequestContext, reserve: Reserves
    ) -> tuple[NDArray[np.float32], int]:
        """Unit vectors float32 [texts, width or dimensions] in order, and the total tokens."""
        ids = await self.tokenize(request, context)
        tokens = sum(map(len, ids))
        async with reserve(request.model, tokens):
            return shortened(await self._models[request.model].rows(ids, context), request.dimensions), tokens

    def unweighted(self, model: str) -> list[int] | None:
        """The tokens to which a model gives no weight, or None if it weighs none."""
        return self._models[model].tokenizer.unweighted

    async def weigh(
        self, request: EmbeddingRequest, ids: list[Ids], context: RequestContext
    ) -> tuple[NDArray[np.float32], list[Weights]]:
        """The vectors of texts with these token ids, and the weights of each text's tokens, float32 [tokens]."""
        vectors, weights = await self._models[request.model].weighed(ids, context)
        return shortened(vectors, request.dimensions), weights

    async def tokenize(self, request: EmbeddingRequest, context: RequestContext) -> list[Ids]:
        """The token ids of each text, with what the model has before queries or documents."""
        texts, model = request.texts, self._models[request.model]
        served = self._served[request.model]
        if prefix := served.query_prefix if request.is_query else served.document_prefix:
            texts = [prefix + text for text in texts]
        return await model.tokenize(
            lambda: model.tokenizer.texts(texts, truncate=request.truncate), sum(map(len, texts)), context
        )


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
