"""Background work that repeats and ends with the application."""

import asyncio
import contextvars
import functools
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any, ParamSpec, TypeVar

from frontend.observe.logs import log
from frontend.observe.metrics import LOOP_DELAY_SECONDS

# Pause between measurements: enough of them for percentiles over minutes, and little work for an idle frontend.
_MEASURED_SECONDS = 0.2
# The longest that a cancelled caller waits for its work. A database that answers needs less, and a frozen one must not
# hold callers beyond their own limits.
_LEAVE_SECONDS = 0.2
_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")


class Repeating:
    """Calls ``work`` every ``seconds``. An unexpected error is logged and does not stop it."""

    def __init__(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        self._seconds, self._work = seconds, work
        self._working = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start after the first pause; call it within the event loop."""
        self._task = start_detached(self._run())

    async def close(self) -> None:
        """Stop, even in the middle of the work."""
        if self._task is not None:
            await cancel_all([self._task])

    async def finish(self) -> None:
        """Stop after the current work."""
        async with self._working:
            await self.close()

    async def _run(self) -> None:
        task = asyncio.current_task()
        # The work may swallow the cancellation.
        while task is None or not task.cancelling():
            await asyncio.sleep(self._seconds)
            try:
                async with self._working:
                    await self._work()
            except Exception:
                log.exception("unforeseen error beside the requests")


def start_detached(work: Coroutine[Any, Any, _Result]) -> asyncio.Task[_Result]:
    """Start a task that belongs to no request: its log lines and spans name none."""
    return asyncio.create_task(work, context=contextvars.Context())


async def cancel_all(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def uninterrupted(
    work: Callable[_Arguments, Coroutine[Any, Any, _Result]],
) -> Callable[_Arguments, Coroutine[Any, Any, _Result]]:
    """Let a coroutine function run to its end. Who is cancelled meanwhile waits a moment for that, and leaves.

    For short work on the database: a statement that is cancelled may keep its connection, and with it the lock of the
    database, until garbage is collected.
    """

    @functools.wraps(work)
    async def run(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
        task = asyncio.create_task(work(*arguments, **named))
        task.add_done_callback(forget_outcome)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                await asyncio.wait([task], timeout=_LEAVE_SECONDS)
            raise

    return run


def forget_outcome(task: asyncio.Task[Any]) -> None:
    """A task callback for tasks whose callers may all have disconnected. It ignores their errors."""
    if not task.cancelled():
        task.exception()


async def measure_loop_delay() -> None:
    """Measure the delay of one timer. Every request in flight has waited as long."""
    loop = asyncio.get_running_loop()
    due = loop.time() + _MEASURED_SECONDS
    await asyncio.sleep(_MEASURED_SECONDS)
    LOOP_DELAY_SECONDS.observe(max(0.0, loop.time() - due))
