"""Calls of the packed text models: token ids are cut into requests of a token budget and rows come back in order."""

import asyncio
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from frontend.dispatch.queue import Dispatcher
from frontend.errors import BadGateway
from frontend.gather import gather_or_cancel
from frontend.observe import log
from frontend.text.packed import packed_inputs
from frontend.text.tokens import Ids, pack
from frontend.triton import Triton

# Below this many characters a thread costs more than the tokenizing.
_INLINE_CHARACTERS = 2000


async def tokenize(function: Callable[[], list[Ids]], characters: int) -> list[Ids]:
    """Run a tokenizer call: in a thread when the text is long, since the event loop never waits for it."""
    return function() if characters <= _INLINE_CHARACTERS else await asyncio.to_thread(function)


class PackedModel:
    """One packed text model of a Triton: ``output`` has one row a text."""

    def __init__(self, triton: Triton, dispatcher: Dispatcher, model: str, output: str, budget: int) -> None:
        self._triton, self._dispatcher = triton, dispatcher
        self._model, self._output, self._budget = model, output, budget

    async def rows(self, texts: list[Ids]) -> NDArray[np.float32]:
        """The output rows of all texts, float32 [texts, ...], in order."""
        owner = object()
        return np.concatenate(await gather_or_cancel(self._request(p, owner) for p in pack(texts, self._budget)))

    async def _request(self, texts: list[Ids], owner: object) -> NDArray[np.float32]:
        async with self._dispatcher.slot(self._model, owner):
            arrays = await self._triton.infer(self._model, packed_inputs(texts), [self._output])
        rows: NDArray[np.float32] = arrays[self._output]
        if rows.shape[:2] != (1, len(texts)) or not np.isfinite(rows).all():
            log.error("bad tensor", extra={"fields": {"model": self._model, "shape": rows.shape}})
            raise BadGateway("the model backend gave a bad answer, retry with backoff")
        first: NDArray[np.float32] = rows[0]
        return first
