"""Calls of the packed text models: token ids are cut into calls of one execution and rows come back in order."""

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from frontend.catalogue.models import Model
from frontend.concurrency.gather import gather_or_cancel
from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from frontend.dispatch.batch_size import Work
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.large_work import LargeWork
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.errors import Busy
from frontend.http.memory import MemoryReservation
from frontend.parameters.embeddings import MOST_INPUTS
from frontend.text.tokens import Ids, TextTokenizer, pack, packed_inputs, work
from frontend.tritons.inference import Trial
from frontend.tritons.triton import bad_answer

Weights = NDArray[np.float32]
# Fewest characters for which a thread pays off.
_INLINE_CHARACTERS = 2000
# The most texts of a request that is no large batch: /similarity compares one with as many as the contract has.
_MOST_OF_SMALL = MOST_INPUTS + 1
# The most texts of a call, however short they are: 1 MB of vectors.
_TEXTS_AT_ONCE = 256
# A request that is under way is given up if so much of its rest would end too late.
_SURELY = 0.8
# The output with the weights of tokens, if a model has them.
WEIGHTS = "token_weights"
# Tokens; from model_repository/m3_embedder/1/blocks.py. Smaller requests gain nothing.
_BLOCK = 768


def load_tokenizer(repository: Path, model: Model) -> TextTokenizer:
    """The exported tokenizer of a model.

    Raises ``SettingsError`` if its limit differs from the catalogue's, and for a prefix that leaves a text too little.
    """
    tokenizer = TextTokenizer(repository / model.triton_model / "1")
    if tokenizer.max_tokens != model.max_tokens:
        fault = f"{model.triton_model} takes {tokenizer.max_tokens} tokens of a text"
        raise SettingsError(f"{fault}, and the catalogue has {model.max_tokens}: export it again")
    before = max(map(len, tokenizer.texts([model.query_prefix, model.document_prefix])))
    if before > model.max_tokens // 2:
        raise SettingsError(f"{model.id}: a prefix takes more than half of the {model.max_tokens} tokens of a text")
    return tokenizer


class PackedModel:
    """One packed text model on Triton. ``output`` has a row of ``width`` for each text; ``threads`` tokenize.

    Its work is counted in tokens. The trial is a text of one letter: an int8 graph fails it on a processor that
    computes int8 wrongly.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        threads: WorkerQueue,
        model: Model,
        output: str,
        width: tuple[int, ...],
        settings: Settings,
    ) -> None:
        self._dispatcher, self._threads, self._calls_at_once = dispatcher, threads, settings.calls_at_once
        self._model, self._output, self._width = model.triton_model, output, width
        self._turns: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()
        self.tokenizer = load_tokenizer(settings.model_repository, model)
        trial = Trial(packed_inputs(self.tokenizer.texts(["a"])), [output])
        dispatcher.register_model(self._model, Work(_BLOCK, settings.token_budget, divisible=True), trial)

    async def tokenize(
        self,
        function: Callable[[Sequence[str]], list[Ids]],
        texts: Sequence[str],
        context: RequestContext,
        memory: MemoryReservation,
        shared: str = "",
    ) -> list[Ids]:
        """Tokenize, in a thread if the texts are long, so that the event loop never blocks.

        Raises ``Busy`` before that if the queue is full or the wait too long. A large batch waits for a thread as
        several requests do. ``shared`` is tokenized with each text.
        """
        self._dispatcher.queue(self._model).refuse_early(context)
        if len(texts) <= _MOST_OF_SMALL and len(shared) + sum(map(len, texts)) <= _INLINE_CHARACTERS:
            return function(texts)
        ids: list[Ids] = []
        for start in range(0, len(texts), _MOST_OF_SMALL):
            ids += await self._threads.run(context, function, texts[start : start + _MOST_OF_SMALL])
            memory.add(sum(each.nbytes for each in ids[start:]))
        return ids

    async def rows(self, texts: list[Ids], context: RequestContext) -> NDArray[np.float32]:
        """The output rows of all texts, float32 [texts, ...], in order."""
        rest = LargeWork(context.priority, context.deadline, work(texts))
        if len(texts) <= _MOST_OF_SMALL:
            return await self._rows(texts, context, rest)
        async with self._turn(context):
            with self._dispatcher.queue(self._model).large(context, rest):
                # Small requests of the same key go before.
                return await self._rows(texts, replace(context, rank=1), rest)

    @asynccontextmanager
    async def _turn(self, context: RequestContext) -> AsyncIterator[None]:
        """Within the block, no other large batch of the key is worked on: together they would fill its queue."""
        turn = self._turns.setdefault(context.key, asyncio.Lock())
        try:
            async with asyncio.timeout_at(context.deadline):
                await turn.acquire()
        except TimeoutError:
            raise Busy("other large requests of this key are under way, retry later") from None
        try:
            yield
        finally:
            turn.release()

    async def weighed(self, texts: list[Ids], context: RequestContext) -> tuple[NDArray[np.float32], list[Weights]]:
        """The rows, and the weights of each text's tokens, float32 [tokens]. For no large batch."""
        names = [self._output, WEIGHTS]
        parts = self._parts(texts, context)
        contexts = self._contexts(context, list(map(work, parts)))
        calls = (self._request(*each, names) for each in zip(parts, contexts, strict=True))
        found = await gather_or_cancel(calls, lambda: self._calls_at_once)
        rows, weights = (np.concatenate(each) for each in zip(*found, strict=True))
        return rows, np.split(weights, np.cumsum([len(text) for text in texts])[:-1])

    def _parts(self, texts: list[Ids], context: RequestContext) -> list[list[Ids]]:
        """The texts of each call. Raises ``Busy`` if they would end too late.

        An idle model may have been measured long ago, so it is tried.
        """
        queue = self._dispatcher.queue(self._model)
        if queue.demand:
            queue.refuse_late(context, work(texts), self._calls_at_once)
        budget = self._dispatcher.batch(self._model)
        some = (texts[start : start + _TEXTS_AT_ONCE] for start in range(0, len(texts), _TEXTS_AT_ONCE))
        return [part for group in some for part in pack(group, budget)]

    def _contexts(self, context: RequestContext, costs: list[float]) -> list[RequestContext]:
        return self._dispatcher.queue(self._model).contexts(context, costs, self._calls_at_once)

    async def _rows(self, texts: list[Ids], context: RequestContext, rest: LargeWork) -> NDArray[np.float32]:
        parts, names = self._parts(texts, context), [self._output]
        if len(parts) == 1:
            # Most requests are one call, which needs no task of its own.
            return (await self._request(parts[0], context, names))[0]
        rows, whole = np.empty((len(texts), *self._width), np.float32), rest.left

        # To join the rows of a large batch at its end would take too long.
        async def fill(start: int, part: list[Ids], context: RequestContext, before: float) -> None:
            if rest.left < whole:
                left = _SURELY * (whole - before)
                self._dispatcher.queue(self._model).refuse_late(context, left, self._calls_at_once)
            (rows[start : start + len(part)],) = await self._request(part, context, names)
            rest.left -= work(part)

        starts, costs = accumulate(map(len, parts), initial=0), list(map(work, parts))
        contexts, before = self._contexts(context, costs), accumulate(costs, initial=0.0)
        calls = (fill(*each) for each in zip(starts, parts, contexts, before, strict=False))
        await gather_or_cancel(calls, lambda: self._calls_at_once)
        return rows

    async def _request(self, texts: list[Ids], context: RequestContext, names: list[str]) -> list[NDArray[np.float32]]:
        arrays = await self._dispatcher.infer(self._model, lambda: packed_inputs(texts), names, context, work(texts))
        expected = {self._output: (1, len(texts), *self._width), WEIGHTS: (1, sum(map(len, texts)))}
        for name in names:
            if arrays[name].shape != expected[name]:
                raise bad_answer(self._model, f"{len(texts)} texts gave {name} {arrays[name].shape}")
        return [arrays[name][0] for name in names]
