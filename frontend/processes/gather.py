"""Run several calls of one request in parallel."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any, TypeVar

from frontend.processes.background import cancel_all

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
    calls: Iterable[Coroutine[Any, Any, T]], at_once: Callable[[], float] = lambda: float("inf")
) -> list[T]:
    """Run calls in parallel and return their results in order. The first error cancels the others and is raised.

    At most ``at_once()`` calls run in parallel. It is asked again whenever one ends.
    """
    gate = _Gate(at_once)

    async def admitted(call: Coroutine[Any, Any, T]) -> T:
        async with gate.admit():
            return await call

    coroutines = list(calls)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(admitted(call)) for call in coroutines]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        for call in coroutines:
            # A call that was cancelled while it waited has never begun.
            call.close()
    return [task.result() for task in tasks]


async def take_in_order(calls: Iterable[Coroutine[Any, Any, T]], ahead: int) -> AsyncGenerator[T, None]:
    """The results of calls in order. At most ``ahead`` calls run or wait until their results are taken.

    An error is raised at its turn. The end of the generator cancels the others.
    """
    waiting = iter(calls)
    running = deque(asyncio.create_task(call) for call in islice(waiting, ahead))
    try:
        while running:
            yield await running[0]
            running.popleft()
            running.extend(asyncio.create_task(call) for call in islice(waiting, 1))
    finally:
        await cancel_all(running)


@asynccontextmanager
async def in_order(
    calls: Iterable[Coroutine[Any, Any, T]], at_once: Callable[[], float], ended: Callable[[], None] = lambda: None
) -> AsyncIterator[AsyncIterator[T]]:
    """Run calls in parallel within the block, as ``gather_or_cancel`` does, and yield each result in its turn.

    The first call runs alone, so that its result comes soon. The calls go on while nobody asks for a result; ``ended``
    is called after the last one. The first error cancels the others, and is raised instead of the next result.
    """
    gate = _Gate(lambda: at_once() if begun else 1)
    begun = False
    failures: list[BaseException] = []

    async def admitted(call: Coroutine[Any, Any, T]) -> T:
        nonlocal begun
        async with gate.admit():
            result = await call
            begun = True
            return result

    def note(task: asyncio.Task[T]) -> None:
        going.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            failures.append(error)
            for other in going:
                other.cancel()
        if not going:
            ended()

    async def results() -> AsyncIterator[T]:
        for task in tasks:
            await asyncio.wait([task])
            if failures:
                raise failures[0]
            yield task.result()

    coroutines = list(calls)
    tasks = [asyncio.create_task(admitted(call)) for call in coroutines]
    going = set(tasks)
    for task in tasks:
        task.add_done_callback(note)
    try:
        yield results()
    finally:
        await cancel_all(tasks)
        for call in coroutines:
            # A call that was cancelled while it waited has never begun.
            call.close()
