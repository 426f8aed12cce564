"""A bounded number of calls of each model at once, given out in turns between requests.

Triton's own queue stays plain and short: it gets just enough calls that the next batch is always waiting there.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager


class Slots:
    """``count`` slots of one model. Owners who wait take turns, so that a long text cannot hold up a short one."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def slot(self, owner: Hashable) -> AsyncIterator[None]:
        """Hold one slot; ``owner`` names the HTTP request that the call belongs to."""
        await self._acquire(owner)
        try:
            yield
        finally:
            self._release()

    async def _acquire(self, owner: Hashable) -> None:
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            # The slot may have been handed over in the very moment the caller left.
            if turn.done() and not turn.cancelled():
                self._release()
            raise

    def _release(self) -> None:
        while self._waiting:
            owner, turns = self._waiting.popitem(last=False)
            turn = turns.popleft()
            if turns:
                self._waiting[owner] = turns
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class Dispatcher:
    """The slots of every model, made when a model is first called."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._slots: dict[str, Slots] = {}

    def slot(self, model: str, owner: Hashable) -> AbstractAsyncContextManager[None]:
        """A slot of ``model`` for one call of ``owner``."""
        return self._slots.setdefault(model, Slots(self._concurrency)).slot(owner)
