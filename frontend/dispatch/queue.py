"""A bounded number of calls of each model at once, given out in turns between requests.

Triton's own queue stays plain and short: it gets just enough calls that the next batch is always waiting there.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager


class Slots:
    """``count`` slots of one model, ``each`` of them at most for one owner.

    Owners who wait take turns, so that a long text cannot hold up a short one.
    """

    def __init__(self, count: int, each: int) -> None:
        self._free, self._each = count, each
        self._held: Counter[Hashable] = Counter()
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def slot(self, owner: Hashable) -> AsyncIterator[None]:
        """Hold one slot; ``owner`` names the HTTP request that the call belongs to."""
        await self._acquire(owner)
        try:
            yield
        finally:
            self._release(owner)

    async def _acquire(self, owner: Hashable) -> None:
        if self._free and self._held[owner] < self._each:
            self._take(owner)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            # The slot may have been handed over in the very moment the caller left.
            if turn.done() and not turn.cancelled():
                self._release(owner)
            raise

    def _take(self, owner: Hashable) -> None:
        self._free -= 1
        self._held[owner] += 1

    def _release(self, owner: Hashable) -> None:
        self._free += 1
        self._held[owner] -= 1
        if not self._held[owner]:
            del self._held[owner]
        while self._free and (owner := self._next()) is not None:
            turns = self._waiting.pop(owner)
            turn = turns.popleft()
            if turns:
                self._waiting[owner] = turns
            if not turn.done():
                self._take(owner)
                turn.set_result(None)

    def _next(self) -> Hashable | None:
        return next((owner for owner in self._waiting if self._held[owner] < self._each), None)


class Dispatcher:
    """The slots of every model, made when a model is first called; ``each`` bounds one owner's, by model."""

    def __init__(self, concurrency: int, each: Mapping[str, int] | None = None) -> None:
        self._concurrency, self._each = concurrency, each or {}
        self._slots: dict[str, Slots] = {}

    def slot(self, model: str, owner: Hashable) -> AbstractAsyncContextManager[None]:
        """A slot of ``model`` for one call of ``owner``."""
        if model not in self._slots:
            self._slots[model] = Slots(self._concurrency, self._each.get(model, self._concurrency))
        return self._slots[model].slot(owner)
