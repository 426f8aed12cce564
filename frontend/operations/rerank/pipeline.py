"""Reranking: tokenize the query once, pack the pairs, sort the scores."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from frontend.billing.bill import Reserves
from frontend.catalogue.models import RERANK
from frontend.config.settings import Settings
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.http.memory import MemoryReservation
from frontend.operations.packed_model import PackedModel
from frontend.operations.rerank.protocol import RerankRequest
from frontend.text.tokens import Ids

OUTPUT = "score"


class RerankPipeline:
    """Scores pairs with packed rerankers on Triton."""

    def __init__(self, settings: Settings, dispatcher: Dispatcher, threads: WorkerQueue) -> None:
        self._served = settings.served.by_id(RERANK)
        self._models = {
            name: PackedModel(dispatcher, threads, model, OUTPUT, (), settings) for name, model in self._served.items()
        }

    async def run(
        self, request: RerankRequest, context: RequestContext, reserve: Reserves, memory: MemoryReservation
    ) -> tuple[list[tuple[int, float]], int]:
        """(index, score) of the best documents, at most ``top_n``; and the tokens of all pairs."""
        model = self._models[request.model]

        def pairs_with(documents: Sequence[str]) -> list[Ids]:
            most, truncate = request.document_tokens, request.truncate
            return model.tokenizer.pairs(request.query, documents, most, truncate=truncate)

        pairs = await model.tokenize(pairs_with, request.documents, context, memory, shared=request.query)
        tokens = sum(map(len, pairs))
        async with reserve(request.model, tokens):
            scores = await model.rows(pairs, context)
            as_raw = request.raw_scores or self._served[request.model].raw_scores
            return order(raw(scores) if as_raw else scores)[: request.top_n], tokens


def raw(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """The model's own scores, before the sigmoid; as far from 0 as float32 can tell."""
    bounds = np.finfo(np.float32)
    within = np.clip(scores.astype(np.float64), bounds.tiny, 1 - bounds.epsneg)
    return np.asarray(np.log(within) - np.log1p(-within))


def order(scores: NDArray[np.float32] | NDArray[np.float64]) -> list[tuple[int, float]]:
    """(index, score) by score descending; equal scores keep the order of their indices."""
    return [(int(index), round(float(scores[index]), 6)) for index in np.argsort(-scores, kind="stable")]
