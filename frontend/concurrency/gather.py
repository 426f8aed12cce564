"""Run several calls of one request in parallel."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Generic, TypeVar

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
    gathering = _Gathering(calls, at_once, note)
    try:
        async with asyncio.TaskGroup() as group:
            gathering.begin(group)
    except BaseExceptionGroup as errors:
        failure: BaseException = errors.exceptions[0]
    except asyncio.CancelledError as cancelled:
        # A group of Python 3.11 keeps it, and its traceback the group's frame: only garbage collection would free them.
        cancelled.__traceback__ = None
        raise
    else:
        return gathering.results_in_order()
    finally:
        gathering.close()
    try:
        # Within the handler, the error and the group would refer to each other.
        raise failure
    finally:
        del failure


class _Gathering(Generic[T]):
    """The calls of one ``gather_or_cancel``. Closures would refer to each other, and keep the results."""

    def __init__(
        self, calls: Iterable[Coroutine[Any, Any, T]], at_once: Callable[[], float], note: Callable[[int, T], None]
    ) -> None:
        self._waiting, self._at_once, self._note = enumerate(calls), at_once, note
        self._begun: list[Coroutine[Any, Any, T]] = []
        self._results: dict[int, T] = {}

    def begin(self, group: asyncio.TaskGroup) -> None:
        """Begin as many calls as may run now."""
        while len(self._begun) - len(self._results) < max(1, self._at_once()):
            if (each := next(self._waiting, None)) is None:
                return
            self._begun.append(each[1])
            group.create_task(self._run(group, *each))

    async def _run(self, group: asyncio.TaskGroup, index: int, call: Coroutine[Any, Any, T]) -> None:
        result = await call
        self._note(index, result)
        self._results[index] = result
        self.begin(group)

    def results_in_order(self) -> list[T]:
        return [self._results[index] for index in range(len(self._results))]

    def close(self) -> None:
        """Close all calls: one that was cancelled while it waited has never begun."""
        for call in (*self._begun, *(call for _, call in self._waiting)):
            call.close()
