"""CPU work in worker processes, each with limits of its own; a task that overruns is killed with its process."""

import asyncio
import multiprocessing
import resource
import signal
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import ParamSpec, TypeVar

from pebble import ProcessExpired, ProcessPool

P = ParamSpec("P")
T = TypeVar("T")

_MEMORY_BYTES = 4 * 1024**3
_OPEN_FILES = 64


class TaskKilledError(Exception):
    """The task took too long or its process died; the input is to blame."""


def _restrict(prepare: Callable[[], None] | None) -> None:
    """In a new worker: no core files, no file writes, bounded memory; a person's Ctrl-C is the parent's affair."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if prepare is not None:
        prepare()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))


class Offload:
    """A pool of ``workers`` processes, each renewed after ``tasks`` tasks; ``prepare`` runs once in each."""

    def __init__(self, workers: int, *, tasks: int, prepare: Callable[[], None] | None = None) -> None:
        # A forked child would inherit gRPC's threads and locks.
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPool(
            max_workers=workers, max_tasks=tasks, initializer=_restrict, initargs=[prepare], context=context
        )

    async def run(self, seconds: float, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call ``function`` in a worker. Its own exceptions pass through.

        Raises ``TaskKilledError`` when it ran longer than ``seconds`` or its process died. Cancelling kills it too.
        """
        future = self._pool.schedule(function, args=list(args), kwargs=dict(kwargs), timeout=seconds)
        try:
            result: T = await asyncio.wrap_future(future)
        except (FutureTimeoutError, ProcessExpired):
            raise TaskKilledError from None
        except asyncio.CancelledError:
            future.cancel()
            raise
        except MemoryError:
            raise TaskKilledError from None
        return result

    async def close(self) -> None:
        """End every worker now."""
        self._pool.stop()
        await asyncio.to_thread(self._pool.join)
