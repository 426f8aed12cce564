"""Calls of the packed text models: token ids are cut into calls of one execution and rows come back in order."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from frontend.catalogue.models import Model
from frontend.concurrency.gather import gather_or_cancel
from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from frontend.dispatch.batch_size import Work
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.worker_queue import WorkerQueue
from frontend.text.tokens import Ids, TextTokenizer, pack, packed_inputs, work
from frontend.tritons.inference import Trial
from frontend.tritons.triton import bad_answer

Weights = NDArray[np.float32]
# Fewest characters for which a thread pays off.
_INLINE_CHARACTERS = 2000
# The output with the weights of tokens, if a model has them.
WEIGHTS = "token_weights"
# Tokens; from model_repository/m3_embedder/1/blocks.py. Smaller requests gain nothing.
_BLOCK = 768


def load_tokenizer(repository: Path, model: Model) -> TextTokenizer:
    """The exported tokenizer of a model. Raises ``SettingsError`` if its limit differs from the catalogue's."""
    tokenizer = TextTokenizer(repository / model.triton_model / "1")
    if tokenizer.max_tokens != model.max_tokens:
        fault = f"{model.triton_model} takes {tokenizer.max_tokens} tokens of a text"
        raise SettingsError(f"{fault}, and the catalogue has {model.max_tokens}: export it again")
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
        self.tokenizer = load_tokenizer(settings.model_repository, model)
        trial = Trial(packed_inputs(self.tokenizer.texts(["a"])), [output])
        dispatcher.register_model(self._model, Work(_BLOCK, settings.token_budget, divisible=True), trial)

    async def tokenize(self, function: Callable[[], list[Ids]], characters: int, context: RequestContext) -> list[Ids]:
        """Tokenize, in a thread if the text is long, so that the event loop never blocks, and not for a full queue."""
        self._dispatcher.queue(self._model).refuse_full(context)
        return function() if characters <= _INLINE_CHARACTERS else await self._threads.run(context, function)

    async def rows(self, texts: list[Ids], context: RequestContext) -> NDArray[np.float32]:
        """The output rows of all texts, float32 [texts, ...], in order."""
        return (await self._outputs(texts, context, [self._output]))[0]

    async def weighed(self, texts: list[Ids], context: RequestContext) -> tuple[NDArray[np.float32], list[Weights]]:
        """The rows, and the weights of each text's tokens, float32 [tokens]."""
        rows, weights = await self._outputs(texts, context, [self._output, WEIGHTS])
        return rows, np.split(weights, np.cumsum([len(text) for text in texts])[:-1])

    async def _outputs(
        self, texts: list[Ids], context: RequestContext, names: list[str]
    ) -> Sequence[NDArray[np.float32]]:
        """These outputs of all texts, in order."""
        self._dispatcher.queue(self._model).refuse_late(context, work(texts), self._calls_at_once)
        parts = pack(texts, self._dispatcher.batch(self._model))
        if len(parts) == 1:
            # Most requests are one call, which needs no task of its own.
            return await self._request(parts[0], context, names)
        calls = (self._request(part, context, names) for part in parts)
        found = await gather_or_cancel(calls, lambda: self._calls_at_once)
        return [np.concatenate(each) for each in zip(*found, strict=True)]

    async def _request(self, texts: list[Ids], context: RequestContext, names: list[str]) -> list[NDArray[np.float32]]:
        arrays = await self._dispatcher.infer(self._model, lambda: packed_inputs(texts), names, context, work(texts))
        expected = {self._output: (1, len(texts), *self._width), WEIGHTS: (1, sum(map(len, texts)))}
        for name in names:
            if arrays[name].shape != expected[name]:
                raise bad_answer(self._model, f"{len(texts)} texts gave {name} {arrays[name].shape}")
        return [arrays[name][0] for name in names]
