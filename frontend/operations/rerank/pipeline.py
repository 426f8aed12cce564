"""From a query and documents to an order: tokenize the query once, pack the pairs, sort the scores."""

import numpy as np
from numpy.typing import NDArray

from frontend.config.settings import Settings
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.model_queue import Turn
from frontend.dispatch.pool import Pool
from frontend.operations.packed_model import PackedModel
from frontend.operations.rerank.protocol import MODEL, Ranking, RerankRequest
from frontend.text.tokens import TextTokenizer
from frontend.usage.bill import Reserves

TRITON_MODEL = "m3_reranker"
OUTPUT = "score"


class RerankPipeline:
    """Scores pairs with the packed reranker of a Triton."""

    def __init__(self, settings: Settings, dispatcher: Dispatcher, threads: Pool) -> None:
        self._tokenizer = TextTokenizer(settings.model_repository / TRITON_MODEL / "1")
        trial = self._tokenizer.pairs("a", ["b"])
        self._model = PackedModel(dispatcher, threads, TRITON_MODEL, OUTPUT, (), trial, settings)

    async def run(self, request: RerankRequest, turn: Turn, reserve: Reserves) -> Ranking:
        """The documents in order of relevance, at most ``top_n`` of them."""
        characters = len(request.query) + sum(map(len, request.documents))
        pairs = await self._model.tokenize(
            lambda: self._tokenizer.pairs(request.query, request.documents), characters, turn
        )
        tokens = sum(map(len, pairs))
        await reserve(MODEL, tokens)
        scores = await self._model.rows(pairs, turn)
        return Ranking(order(scores)[: request.top_n], tokens)


def order(scores: NDArray[np.float32]) -> list[tuple[int, float]]:
    """(index, score) by score descending; equal scores keep the order of their indices."""
    return [(int(index), round(float(scores[index]), 6)) for index in np.argsort(-scores, kind="stable")]
