"""CPU work outside the event loop: in processes with limits, or in threads."""

import asyncio
import functools
import math
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from frontend.concurrency.background import cancel_all, start_detached
from frontend.errors import BadGateway
from frontend.observe.logs import log
from frontend.observe.metrics import WORKERS_KILLED
from frontend.processes.pauses import Pauses
from frontend.processes.task_process import ProcessDiedError, TaskProcess

P = ParamSpec("P")
T = TypeVar("T")

_OWN_MODULE = "frontend.processes.task_process"
# Attempts per task. Something else may have killed the first process.
_TRIES = 2
# A process that keeps so many more bytes than at its start is replaced: libraries leak.
_MOST_GROWTH = 64 * 1024**2
# Seconds that a task waits for a starting process. The first process imports the tasks' modules.
_START_SECONDS = 30.0
# The share of its time for which a task that is late must have had a processor to be the cause itself.
_WORKED_SHARE = 0.5


class TaskKilledError(Exception):
    """The task exceeded its processor time (``reason`` late) or its memory: the input is the cause."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def import_once(modules: Sequence[str]) -> None:
    """Import modules in the process from which others are forked, so that each starts in milliseconds.

    Call it before the first starts. Threads that a module starts on import would be missing in the forks.
    """
    multiprocessing.set_forkserver_preload([_OWN_MODULE, *modules])


class Offload:
    """``workers`` processes, each replaced after ``tasks`` tasks or if it has grown; ``prepare`` runs once in each.

    A task that takes longer than ``seconds`` is killed with its process. If the process was kept from working for most
    of that time, the task is not to blame. Every process that ends is replaced, and counted under ``name`` if it ended
    before its last task. The first task starts the processes.
    """

    # Seconds that an abandoned task may continue. A new process costs about as much as the rest of most tasks.
    grace = 1.0

    def __init__(
        self, name: str, workers: int, *, tasks: int, seconds: float, prepare: Callable[[], object] | None = None
    ) -> None:
        self._name, self._workers, self._tasks, self._seconds = name, workers, tasks, seconds
        self._prepare = prepare
        # A killed process keeps its thread for a moment, while its successor starts.
        self._threads = ThreadPoolExecutor(2 * workers, thread_name_prefix=name)
        self._free: asyncio.Queue[TaskProcess] = asyncio.Queue()
        self._keepers: list[asyncio.Task[None]] = []
        self._ready, self._lost = 0, False

    @property
    def works(self) -> bool:
        """False while no process lives."""
        return self._ready > 0 or not self._lost

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call ``function`` in a process. Its own exceptions pass through.

        Raises ``TaskKilledError`` for a task that takes too much, and ``BadGateway`` if its process died twice or had
        no processor. A cancellation ends the process too.
        """
        deaths = 0
        # Processes that died before they began the task: at most one per worker.
        for _ in range(_TRIES + self._workers):
            process = await self._take()
            try:
                value, error = await self._call(process, (function, args, kwargs))
            except ProcessDiedError:
                deaths += process.begun
                if deaths == _TRIES:
                    break
                continue
            if isinstance(error, MemoryError):
                raise TaskKilledError("memory") from None
            if error is not None:
                try:
                    raise error
                finally:
                    # Its traceback refers to this frame, and only garbage collection would free both.
                    del error
            result: T = value
            return result
        raise BadGateway("a process of this service ended in the middle of its work, retry with backoff")

    async def close(self) -> None:
        """Kill every process now."""
        await cancel_all(self._keepers)
        await asyncio.to_thread(self._threads.shutdown)

    async def _take(self) -> TaskProcess:
        if not self._keepers:
            self._keepers = [start_detached(self._keep()) for _ in range(self._workers)]
        try:
            async with asyncio.timeout(_START_SECONDS):
                return await self._free.get()
        except TimeoutError:
            raise BadGateway("a process of this service could not be started, retry with backoff") from None

    async def _call(self, process: TaskProcess, task: tuple[Any, ...]) -> tuple[Any, Exception | None]:
        try:
            async with asyncio.timeout(self._seconds):
                outcome = await asyncio.get_running_loop().run_in_executor(self._threads, process.call, task)
        except TimeoutError:
            worked = process.worked_seconds()
            process.end("late")
            if worked < _WORKED_SHARE * self._seconds:
                raise BadGateway("a process of this service did not answer in time, retry with backoff") from None
            raise TaskKilledError("late") from None
        except asyncio.CancelledError:
            process.end("hung_up")
            raise
        except BaseException:
            process.end("died")
            raise
        if isinstance(outcome[1], MemoryError):
            # What is left of its memory may be too little for others.
            process.end("memory")
        elif process.tasks < self._tasks and process.grown_bytes < _MOST_GROWTH:
            self._free.put_nowait(process)
        else:
            process.end(None)
        return outcome

    async def _keep(self) -> None:
        """Keep one process alive: restart it when it ends, after a pause if a start failed."""
        loop, pauses = asyncio.get_running_loop(), Pauses()
        while True:
            try:
                process = await loop.run_in_executor(self._threads, TaskProcess, self._prepare)
            except ProcessDiedError:
                self._lost = True
                log.exception("a process for tasks could not be started", extra={"fields": {"pool": self._name}})
                await asyncio.sleep(pauses.next(loop.time()))
                continue
            self._ready, self._lost = self._ready + 1, False
            self._free.put_nowait(process)
            try:
                await _ended(process)
            finally:
                self._ready -= 1
                self._drop(process)
                process.kill()
                # Some take a tenth of a second to end.
                await asyncio.to_thread(process.wait)
            if process.reason is not None:
                WORKERS_KILLED.labels(self._name, process.reason).inc()
            self._lost |= process.reason == "died"

    def _drop(self, process: TaskProcess) -> None:
        """Remove a process that ended while idle."""
        for _ in range(self._free.qsize()):
            if (other := self._free.get_nowait()) is not process:
                self._free.put_nowait(other)


async def _ended(process: TaskProcess) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(process.sentinel, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(process.sentinel)


class Threads:
    """``threads`` threads, for work that releases the interpreter's lock or takes little time."""

    # An abandoned call keeps its thread until it ends.
    grace = math.inf
    works = True

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="work")

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call ``function`` in a thread. It cannot be stopped."""
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, functools.partial(function, *args, **kwargs)
        )

    async def close(self) -> None:
        """Wait for the running calls."""
        await asyncio.to_thread(self._threads.shutdown)
