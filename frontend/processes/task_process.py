"""A process that runs tasks, one at a time, over its own pipe.

It shares no lock and no pipe with another process, so that its death at any moment harms no other.
"""

import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable, Iterable
from dataclasses import replace
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

from frontend.observe.hiding import trace_of
from frontend.processes import sandbox
from frontend.processes.shared_memory import Attached

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
            descriptors = [argument.descriptor for argument in task[1] if isinstance(argument, Attached)]
            self._pipe.send_bytes(bytes([len(descriptors)]))
            for descriptor in descriptors:
                reduction.send_handle(self._pipe, descriptor, None)
            self._pipe.send(task)
            self._pipe.recv_bytes()
            self.begun = True
            value, raised = sandbox.read_outcome(self._pipe.recv_bytes())
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise ProcessDiedError("the process ended in the middle of its task") from error
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


def _serve(pipe: Connection, prepare: Callable[[], object] | None) -> None:
    # A terminal's Ctrl-C is for the parent.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if prepare is not None:
        prepare()
    sandbox.restrict()
    pipe.send_bytes(_READY)
    while True:
        try:
            count = pipe.recv_bytes()[0]
            descriptors = [reduction.recv_handle(pipe) for _ in range(count)]
            task = pipe.recv_bytes()
        except EOFError:
            # The parent ended.
            return
        pipe.send_bytes(_BEGUN)
        pipe.send_bytes(_answer(task, descriptors))
        for descriptor in descriptors:
            os.close(descriptor)


def _answer(task: bytes, descriptors: Iterable[int]) -> bytes:
    """Do a task. The ``descriptors`` are those of its shared memory, in order."""
    try:
        function, args, kwargs = pickle.loads(task)
        own = iter(descriptors)
        args = [replace(each, descriptor=next(own)) if isinstance(each, Attached) else each for each in args]
        return pickle.dumps((function(*args, **kwargs), None))
    except Exception as error:
        error.add_note(trace_of(error))
        return pickle.dumps((None, error))
