"""A process that runs tasks, one at a time, over its own pipe.

It shares no lock and no pipe with another process, so that its death at any moment harms no other.
"""

import multiprocessing
import os
import pickle
import resource
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from frontend.observe.hiding import trace_of

_MEMORY_BYTES = 4 * 1024**3
_OPEN_FILES = 64
_READY = _BEGUN = b""
# Fields of /proc/PID/stat after the name.
_USER_TICKS, _SYSTEM_TICKS = 11, 12


class ProcessDiedError(Exception):
    """The process ended, for an unknown reason."""


class TaskProcess:
    """The process as its parent sees it. ``reason`` is why it ended; None if it was only replaced."""

    def __init__(self, prepare: Callable[[], object] | None) -> None:
        """Start it and wait until ``prepare`` has run. Raises ``ProcessDiedError`` if it ends before."""
        # A child of this process would inherit gRPC's threads and locks.
        context = multiprocessing.get_context("forkserver")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, prepare), daemon=True)
        self.reason: str | None = "died"
        # The number of tasks that it was given, whether it has begun the last one, and what it had used before that.
        self.tasks, self.begun = 0, False
        self._used_before = 0.0
        self._own_at_start = 0
        try:
            self._process.start()
            theirs.close()
            self._pipe.recv_bytes()
        except (OSError, EOFError) as error:
            raise ProcessDiedError("a process could not be started") from error
        self._own_at_start = self._own_bytes()

    @property
    def sentinel(self) -> int:
        """A descriptor that becomes readable when the process ends."""
        return self._process.sentinel

    def worked_seconds(self) -> float:
        """Processor seconds of the last task."""
        return self._cpu_seconds() - self._used_before

    def _cpu_seconds(self) -> float:
        """Processor seconds that it has used; 0 if it has ended."""
        try:
            with open(f"/proc/{self._process.pid}/stat", "rb") as file:
                # The name of the process comes before these fields, and may have spaces.
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])) / os.sysconf("SC_CLK_TCK")

    @property
    def grown_bytes(self) -> int:
        """How much more memory of its own it has than at its start."""
        return self._own_bytes() - self._own_at_start

    def _own_bytes(self) -> int:
        """Memory that is no file's and shared with no other; 0 if it has ended."""
        try:
            with open(f"/proc/{self._process.pid}/statm", "rb") as file:
                _, resident, shared, *_ = map(int, file.read().split())
        except OSError:
            return 0
        return (resident - shared) * os.sysconf("SC_PAGE_SIZE")

    def call(self, task: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]) -> tuple[Any, Exception | None]:
        """Call a function and return its result or its exception. It blocks, so call it in a thread."""
        self.tasks, self.begun, self._used_before = self.tasks + 1, False, self._cpu_seconds()
        try:
            self._pipe.send(task)
            self._pipe.recv_bytes()
            self.begun = True
            answer = self._pipe.recv_bytes()
        except (OSError, EOFError) as error:
            raise ProcessDiedError("the process ended in the middle of its task") from error
        value, raised = pickle.loads(answer)
        return value, raised

    def end(self, reason: str | None) -> None:
        """Kill it for this reason. A waiting ``call`` raises ``ProcessDiedError``."""
        self.reason = reason
        self._process.kill()

    def kill(self) -> None:
        """Kill it if it still runs."""
        self._process.kill()

    def wait(self) -> None:
        """Wait for its end, in a thread."""
        self._process.join()


def _restrict() -> None:
    """Limit a new process: no core files, no file writes, bounded memory."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))


def _serve(pipe: Connection, prepare: Callable[[], object] | None) -> None:
    # A terminal's Ctrl-C is for the parent.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if prepare is not None:
        prepare()
    _restrict()
    pipe.send_bytes(_READY)
    while True:
        try:
            task = pipe.recv_bytes()
        except EOFError:
            # The parent ended.
            return
        pipe.send_bytes(_BEGUN)
        pipe.send_bytes(_answer(task))


def _answer(task: bytes) -> bytes:
    try:
        function, args, kwargs = pickle.loads(task)
        return pickle.dumps((function(*args, **kwargs), None))
    except Exception as error:
        error.add_note(trace_of(error))
        return pickle.dumps((None, error))
