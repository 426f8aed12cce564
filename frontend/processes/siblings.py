"""Several processes that serve the same sockets: each is started again when it dies, and all end together."""

import ctypes
import math
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from frontend.observe import METRICS_FOLDER, METRICS_NUMBER
from frontend.processes.pauses import Pauses

# Exit status of a process that cannot start.
CANNOT_START = 2
# Exit status, less the signal's number, of a process that a second signal ended.
ENDED_BY = 128
_ENDING = frozenset({signal.SIGTERM, signal.SIGINT})
_WATCHED = _ENDING | {signal.SIGCHLD}
# Seconds between attempts to fork, and between looks at the children if no signal comes.
_RETRY_SECONDS, _LOOK_SECONDS = 1.0, 30.0
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Death:
    """Process id and exit code of a process that died, and the seconds until its successor's start."""

    pid: int
    code: int
    pause: float


class Siblings:
    """``count`` children of this process that each call ``serve``, which returns an exit status.

    ``serve`` gets the death that it follows, if any. The children inherit the ``sockets``.
    """

    def __init__(self, count: int, sockets: Sequence[socket.socket], serve: Callable[[Death | None], int]) -> None:
        self._sockets, self._serve = sockets, serve
        self._running: dict[int, int] = {}
        # Numbers without a process, with the time of its start and the death that it follows.
        self._missing: dict[int, tuple[float, Death | None]] = dict.fromkeys(range(count), (0.0, None))
        self._pauses: dict[int, Pauses] = {}
        # The signal that was passed on first.
        self._ending: signal.Signals | None = None
        self._code = 0

    def run(self) -> int:
        """Run until SIGTERM, SIGINT or a first start that fails, and until all have ended. Returns the exit status.

        A child leaves it by ``SystemExit``, or by an error of ``serve``.
        """
        # The signals wait, so that none comes between a fork and its note.
        signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
        # The kernel forgets children of a process that ignores this signal, which a process may inherit.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.environ[METRICS_FOLDER] = tempfile.mkdtemp(prefix="quartet-metrics-")
        while self._running or self._missing:
            self._fill(time.monotonic())
            due = min((due for due, _ in self._missing.values()), default=math.inf) - time.monotonic()
            received = signal.sigtimedwait(_WATCHED, max(0.0, min(_LOOK_SECONDS, due)))
            if received is not None and received.si_signo in _ENDING:
                self._code = ENDED_BY + received.si_signo if self._ending else self._code
                self._end(signal.Signals(received.si_signo))
            self._reap()
        shutil.rmtree(os.environ[METRICS_FOLDER], ignore_errors=True)
        return self._code

    def _fill(self, now: float) -> None:
        """Start the processes that are due."""
        parent = os.getpid()
        for number, death in [(number, death) for number, (due, death) in self._missing.items() if due <= now]:
            try:
                pid = os.fork()
            except OSError as error:
                print(f"cannot start a process: {error}", file=sys.stderr, flush=True)
                self._missing[number] = now + _RETRY_SECONDS, death
                continue
            if not pid:
                self._live(parent, number, death)
            self._running[pid] = number
            del self._missing[number]

    def _live(self, parent: int, number: int, death: Death | None) -> NoReturn:
        """In the child: serve, and end with the parent."""
        # In a session of its own, a terminal's Ctrl-C reaches only the parent.
        os.setsid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            raise SystemExit
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
        os.environ[METRICS_NUMBER] = str(number)
        raise SystemExit(self._serve(death))

    def _end(self, number: signal.Signals) -> None:
        """Pass the signal on and start no more. The last child that ends closes the sockets for good."""
        if self._ending is None:
            self._ending = number
        else:
            # The same one would be lost on a child that has not handled the first yet.
            (number,) = _ENDING - {self._ending}
        self._missing.clear()
        for each in self._sockets:
            each.close()
        for pid in self._running:
            os.kill(pid, number)

    def _reap(self) -> None:
        """Note who has ended. As the first process of a container, this one inherits orphans too."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if (number := self._running.pop(ended[0], None)) is not None:
                    self._bury(number, ended[0], os.waitstatus_to_exitcode(ended[1]))

    def _bury(self, number: int, pid: int, code: int) -> None:
        """Kill the processes and remove the gauges that a dead child has left, and note when to start another."""
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        # Its successor continues the counts.
        for gauges in Path(os.environ[METRICS_FOLDER]).glob(f"gauge_live*_{number}.db"):
            gauges.unlink()
        if self._ending:
            return
        if code == CANNOT_START and number not in self._pauses:
            self._code = CANNOT_START
            self._end(signal.SIGINT)
            return
        now = time.monotonic()
        pause = self._pauses.setdefault(number, Pauses()).next(now)
        self._missing[number] = now + pause, Death(pid, code, pause)
