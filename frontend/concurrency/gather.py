"""Run several calls of one request in parallel."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def gather_or_cancel(
    calls: Iterable[Coroutine[Any, Any, T]],
    at_once: Callable[[], float] = lambda: float("inf"),
    note: Callable[[int, T], None] = lambda index, result: None,
) -> list[T]:
    """Run calls in parallel and return their results in order. The first error cancels the others and is raised.

    At most ``at_once()`` calls, and always one, run in parallel. It is asked again whenever one ends; the next ones are
    taken from ``calls`` only then. ``note`` is told the index and the result of each call that ends.
    """
    waiting, begun, results = enumerate(calls), list[Coroutine[Any, Any, T]](), dict[int, T]()

    def begin(group: asyncio.TaskGroup) -> None:
        while len(begun) - len(results) < max(1, at_once()) and (each := next(waiting, None)) is not None:
            begun.append(each[1])
            group.create_task(run(group, *each))

    async def run(group: asyncio.TaskGroup, index: int, call: Coroutine[Any, Any, T]) -> None:
        result = await call
        note(index, result)
        results[index] = result
        begin(group)

    try:
        async with asyncio.TaskGroup() as group:
            begin(group)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        # A call that was cancelled while it waited has never begun.
        for call in (*begun, *(call for _, call in waiting)):
            call.close()
    return [results[index] for index in range(len(results))]
