"""CPU work beside the event loop: in worker processes with limits of their own, or in threads."""

import asyncio
import functools
import math
import multiprocessing
import os
import resource
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import ParamSpec, TypeVar

from pebble import ProcessExpired, ProcessPool

from frontend.observe import METRICS_FOLDER

P = ParamSpec("P")
T = TypeVar("T")

_MEMORY_BYTES = 4 * 1024**3
_OPEN_FILES = 64
_OWN_MODULES = ("pebble.pool.process", __name__)


class TaskKilledError(Exception):
    """The task took too long or its process died; the input is to blame.

    ``reason`` is late, died or memory, which its process is given back for and not ended.
    """

    def __init__(self, reason: str = "died") -> None:
        super().__init__(reason)
        self.reason = reason


def _restrict(prepare: Callable[[], object] | None) -> None:
    """In a new worker: no core files, no file writes, bounded memory; a person's Ctrl-C is the parent's affair."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a worker counts is nobody's, and it could not write the file.
    os.environ.pop(METRICS_FOLDER, None)
    if prepare is not None:
        prepare()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))


def import_once(modules: Sequence[str]) -> None:
    """Import what tasks need in the process that workers are forked from, so that each starts in milliseconds.

    To be called before the first of them starts. What a module starts when it is imported, a thread above all, would
    be missing in the workers.
    """
    multiprocessing.set_forkserver_preload([*_OWN_MODULES, *modules])


class Offload:
    """A pool of ``workers`` processes, each renewed after ``tasks`` tasks; ``prepare`` runs once in each.

    A task that takes longer than ``seconds`` is killed with its process.
    """

    # How many seconds a task has to end whose caller has gone. Starting a process anew costs about as much as what most
    # tasks have left, so it is not killed at once.
    grace = 1.0

    def __init__(
        self, workers: int, *, tasks: int, seconds: float, prepare: Callable[[], object] | None = None
    ) -> None:
        self._seconds = seconds
        # A child of this process would inherit gRPC's threads and locks.
        context = multiprocessing.get_context("forkserver")
        self._pool = ProcessPool(
            max_workers=workers, max_tasks=tasks, initializer=_restrict, initargs=[prepare], context=context
        )

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call ``function`` in a worker. Its own exceptions pass through.

        Raises ``TaskKilledError`` when it took too long or its process died. Cancelling kills it too.
        """
        future = self._pool.schedule(function, args=list(args), kwargs=dict(kwargs), timeout=self._seconds)
        try:
            result: T = await asyncio.wrap_future(future)
        except FutureTimeoutError:
            raise TaskKilledError("late") from None
        except ProcessExpired:
            raise TaskKilledError("died") from None
        except MemoryError:
            raise TaskKilledError("memory") from None
        return result

    async def close(self) -> None:
        """End every worker now."""
        self._pool.stop()
        await asyncio.to_thread(self._pool.join)


class Threads:
    """``threads`` threads, for what gives up the interpreter's lock while it works, or does little at a time."""

    # What cannot be stopped keeps its thread to its end.
    grace = math.inf

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="work")

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call ``function`` in a thread; it cannot be stopped."""
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, functools.partial(function, *args, **kwargs)
        )

    async def close(self) -> None:
        """Wait for what has begun."""
        await asyncio.to_thread(self._threads.shutdown)
