"""Run several calls of one request side by side."""

import asyncio
from collections.abc import Coroutine, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, TypeVar

T = TypeVar("T")


async def gather_or_cancel(calls: Iterable[Coroutine[Any, Any, T]], at_once: int = 0) -> list[T]:
    """Results in order; the first error cancels the other calls and is raised as itself, not as a group.

    No more than ``at_once`` run side by side, where that is given.
    """
    turns: AbstractAsyncContextManager[Any] = asyncio.Semaphore(at_once) if at_once else nullcontext()

    async def bounded(call: Coroutine[Any, Any, T]) -> T:
        async with turns:
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
