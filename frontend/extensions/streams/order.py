"""Run several calls of one request, and hand out their results in order while others run."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any, TypeVar

from frontend.concurrency.background import cancel_all
from frontend.concurrency.gather import gather_or_cancel

T = TypeVar("T")


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
            lambda index, result: results[index].set_result(result),
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
