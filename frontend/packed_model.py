"""Calls of the packed text models: token ids are cut into requests of a token budget and rows come back in order."""

import asyncio
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from frontend.dispatch.queue import Dispatcher
from frontend.gather import gather_or_cancel
from frontend.text.packed import packed_inputs
from frontend.text.tokens import Ids, pack
from frontend.triton import Triton, bad_answer

# Below this many characters a thread costs more than the tokenizing.
_INLINE_CHARACTERS = 2000


async def tokenize(function: Callable[[], list[Ids]], characters: int) -> list[Ids]:
    """Run a tokenizer call: in a thread when the text is long, since the event loop never waits for it."""
    return function() if characters <= _INLINE_CHARACTERS else await asyncio.to_thread(function)


class PackedModel:
    """One packed text model of a Triton: ``output`` has one row a text, of the shape ``width``."""

    def __init__(
        self, triton: Triton, dispatcher: Dispatcher, model: str, output: str, width: tuple[int, ...], budget: int
    ) -> None:
        self._triton, self._dispatcher = triton, dispatcher
        self._model, self._output, self._width, self._budget = model, output, width, budget

    async def rows(self, texts: list[Ids]) -> NDArray[np.float32]:
        """The output rows of all texts, float32 [texts, ...], in order."""
        owner = object()
        return np.concatenate(await gather_or_cancel(self._request(p, owner) for p in pack(texts, self._budget)))

    async def _request(self, texts: list[Ids], owner: object) -> NDArray[np.float32]:
        async with self._dispatcher.slot(self._model, owner):
            arrays = await self._triton.infer(self._model, packed_inputs(texts), [self._output])
        rows: NDArray[np.float32] = arrays[self._output]
        if rows.shape != (1, len(texts), *self._width):
            raise bad_answer(self._model, f"{len(texts)} texts gave {rows.shape}")
        first: NDArray[np.float32] = rows[0]
        return first
