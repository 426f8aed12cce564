"""Run several calls of one request in parallel."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class _Gate:
    """A semaphore whose size, ``at_once``, is read again whenever a call comes or ends. It is at least 1."""

    def __init__(self, at_once: Callable[[], float]) -> None:
        self._at_once = at_once
        self._running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def admit(self) -> AsyncIterator[None]:
        admitted = asyncio.get_running_loop().create_future()
        self._waiting.append(admitted)
        self._admit_waiting()
        try:
            await admitted
            yield
        finally:
            # A call that was cancelled just after it was admitted counts as running.
            self._running -= admitted.done() and not admitted.cancelled()
            self._admit_waiting()

    def _admit_waiting(self) -> None:
        while self._waiting and self._running < max(1, self._at_once()):
            admitted = self._waiting.popleft()
            if not admitted.done():
                admitted.set_result(None)
                self._running += 1


async def gather_or_cancel(
    calls: Iterable[Coroutine[Any, Any, T]],
    at_once: Callable[[], float] = lambda: float("inf"),
    note: Callable[[int, T], None] = lambda index, result: None,
) -> list[T]:
    """Run calls in parallel and return their results in order. The first error cancels the others and is raised.

    At most ``at_once()`` calls run in parallel. It is asked again whenever one ends. ``note`` is told the index and the
    result of each call that ends.
    """
    gate = _Gate(at_once)

    async def admitted(index: int, call: Coroutine[Any, Any, T]) -> T:
        async with gate.admit():
            result = await call
            note(index, result)
            return result

    coroutines = list(calls)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(admitted(index, call)) for index, call in enumerate(coroutines)]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        for call in coroutines:
            # A call that was cancelled while it waited has never begun.
            call.close()
    return [task.result() for task in tasks]
