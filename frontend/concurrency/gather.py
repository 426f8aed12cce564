"""Run several calls of one request in parallel."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any, TypeVar

from frontend.concurrency.background import cancel_all

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
    note: Callable[[int, T], None] = lambda place, result: None,
) -> list[T]:
    """Run calls in parallel and return their results in order. The first error cancels the others and is raised.

    At most ``at_once()`` calls run in parallel. It is asked again whenever one ends. ``note`` is told the place and the
    result of each call that ends.
    """
    gate = _Gate(at_once)

    async def admitted(place: int, call: Coroutine[Any, Any, T]) -> T:
        async with gate.admit():
            result = await call
            note(place, result)
            return result

    coroutines = list(calls)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(admitted(place, call)) for place, call in enumerate(coroutines)]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        for call in coroutines:
            # A call that was cancelled while it waited has never begun.
            call.close()
    return [task.result() for task in tasks]


async def read_ahead(calls: Iterable[Coroutine[Any, Any, T]], ahead: int) -> AsyncGenerator[T, None]:
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
async def run_in_order(
    calls: Iterable[Coroutine[Any, Any, T]], at_once: Callable[[], float], ended: Callable[[], None] = lambda: None
) -> AsyncIterator[AsyncIterator[T]]:
    """Run calls within the block, as ``gather_or_cancel`` does, and yield each result in its turn.

    The first call runs alone, so that its result comes soon. The calls go on while nobody asks for a result; ``ended``
    is called after the last one. An error is raised instead of the next result that is missing.
    """
    coroutines, loop = list(calls), asyncio.get_running_loop()
    results: list[asyncio.Future[T]] = [loop.create_future() for _ in coroutines]
    going = loop.create_task(
        gather_or_cancel(
            coroutines,
            lambda: at_once() if results[0].done() else 1,
            lambda place, result: results[place].set_result(result),
        )
    )
    going.add_done_callback(lambda _: ended())

    async def taken() -> AsyncIterator[T]:
        for result in results:
            either: list[asyncio.Future[Any]] = [result, going]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not result.done():
                await going
            yield result.result()

    try:
        yield taken()
    finally:
        await cancel_all([going])
