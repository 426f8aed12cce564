"""A process that works through tasks, one at a time, over a pipe of its own.

It shares no lock and no channel with another: what ends it, at work or idle, ends no other.
"""

import multiprocessing
import os
import pickle
import resource
import signal
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from frontend.observe import METRICS_FOLDER

_MEMORY_BYTES = 4 * 1024**3
_OPEN_FILES = 64
_READY = _BEGUN = b""


class ProcessDiedError(Exception):
    """The process is gone, and nothing says whether its task is to blame."""


class TaskProcess:
    """From its parent's side. ``reason`` is why it ended; None for one that was ended only to be renewed."""

    def __init__(self, prepare: Callable[[], object] | None) -> None:
        """Start it, and wait until it has run ``prepare``; ``ProcessDiedError`` where it does not get so far."""
        # A child of this process would inherit gRPC's threads and locks.
        context = multiprocessing.get_context("forkserver")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, prepare), daemon=True)
        self.reason: str | None = "died"
        # How many it was given, and whether it has begun the last one: it may have been dead before that.
        self.tasks, self.begun = 0, False
        try:
            self._process.start()
            theirs.close()
            self._pipe.recv_bytes()
        except (OSError, EOFError) as error:
            raise ProcessDiedError("a process could not be started") from error

    @property
    def sentinel(self) -> int:
        """A descriptor that becomes readable when the process ends."""
        return self._process.sentinel

    def call(self, task: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]) -> tuple[Any, Exception | None]:
        """What the function answers and what it raises; blocks, so it is for a thread."""
        self.tasks, self.begun = self.tasks + 1, False
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
        """Kill it; whoever waits for an answer hears of it."""
        self.reason = reason
        self._process.kill()

    def bury(self) -> None:
        """Let go of one that has ended, or is to end; its pipe closes when no thread reads from it any more."""
        self._process.kill()
        self._process.join()


def _restrict(prepare: Callable[[], object] | None) -> None:
    """In a new process: no core files, no file writes, bounded memory; a person's Ctrl-C is the parent's affair."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a process counts is nobody's, and it could not write the file.
    os.environ.pop(METRICS_FOLDER, None)
    if prepare is not None:
        prepare()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))


def _serve(pipe: Connection, prepare: Callable[[], object] | None) -> None:
    _restrict(prepare)
    pipe.send_bytes(_READY)
    while True:
        try:
            task = pipe.recv_bytes()
        except EOFError:
            # The parent has gone.
            return
        pipe.send_bytes(_BEGUN)
        pipe.send_bytes(_answer(task))


def _answer(task: bytes) -> bytes:
    try:
        function, args, kwargs = pickle.loads(task)
        return pickle.dumps((function(*args, **kwargs), None))
    except Exception as error:
        error.add_note(traceback.format_exc())
        return pickle.dumps((None, error))
