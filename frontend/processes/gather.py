"""Run several calls of one request side by side."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class _Gate:
    """Lets as many in as ``at_once`` says whenever one comes or leaves, and one always."""

    def __init__(self, at_once: Callable[[], float]) -> None:
        self._at_once = at_once
        self._inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def inside(self) -> AsyncIterator[None]:
        """Wait in turn, and hold a place within the block."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._admit()
        try:
            await turn
            yield
        finally:
            # One that was let in as it was cancelled had a place too.
            self._inside -= turn.done() and not turn.cancelled()
            self._admit()

    def _admit(self) -> None:
        while self._waiting and self._inside < max(1, self._at_once()):
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._inside += 1


async def gather_or_cancel(
    calls: Iterable[Coroutine[Any, Any, T]], at_once: Callable[[], float] = lambda: float("inf")
) -> list[T]:
    """Results in order; the first error cancels the other calls and is raised as itself, not as a group.

    No more than ``at_once`` run side by side; it is asked again whenever one ends.
    """
    gate = _Gate(at_once)

    async def bounded(call: Coroutine[Any, Any, T]) -> T:
        async with gate.inside():
            return await call

    coroutines = list(calls)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(bounded(call)) for call in coroutines]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        for call in coroutines:
            # One that was cancelled before its turn has never begun.
            call.close()
    return [task.result() for task in tasks]
