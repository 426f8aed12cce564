"""Calls of the packed text models: token ids are cut into requests of a token budget and rows come back in order."""

import asyncio
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from frontend.config import Settings
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.model_queue import Turn
from frontend.gather import gather_or_cancel
from frontend.text.packed import packed_inputs
from frontend.text.tokens import Ids, pack
from frontend.triton import bad_answer

# Below this many characters a thread costs more than the tokenizing.
_INLINE_CHARACTERS = 2000


async def tokenize(function: Callable[[], list[Ids]], characters: int) -> list[Ids]:
    """Run a tokenizer call: in a thread when the text is long, since the event loop never waits for it."""
    return function() if characters <= _INLINE_CHARACTERS else await asyncio.to_thread(function)


class PackedModel:
    """One packed text model of a Triton: ``output`` has one row a text, of the shape ``width``."""

    def __init__(
        self, dispatcher: Dispatcher, model: str, output: str, width: tuple[int, ...], settings: Settings
    ) -> None:
        self._dispatcher, self._settings = dispatcher, settings
        self._model, self._output, self._width = model, output, width

    async def rows(self, texts: list[Ids], turn: Turn) -> NDArray[np.float32]:
        """The output rows of all texts, float32 [texts, ...], in order."""
        calls = (self._request(part, turn) for part in pack(texts, self._settings.token_budget))
        return np.concatenate(await gather_or_cancel(calls, self._settings.calls_at_once))

    async def _request(self, texts: list[Ids], turn: Turn) -> NDArray[np.float32]:
        arrays = await self._dispatcher.infer(self._model, lambda: packed_inputs(texts), [self._output], turn)
        rows: NDArray[np.float32] = arrays[self._output]
        if rows.shape != (1, len(texts), *self._width):
            raise bad_answer(self._model, f"{len(texts)} texts gave {rows.shape}")
        first: NDArray[np.float32] = rows[0]
        return first
