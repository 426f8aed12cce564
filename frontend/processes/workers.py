"""Several frontends over one listening socket: started together, one started again when it dies, stopped together."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType

from frontend.config.settings import Settings
from frontend.observe import METRICS_FOLDER
from frontend.observe.exposition import forget_process
from frontend.observe.logs import log
from frontend.processes.pauses import Pauses

_LOOK_SECONDS = 0.1
# Longer than a worker itself waits for its requests to end.
_STOP_SECONDS = 15.0
CANNOT_START = 2


@dataclass
class _Worker:
    """One of the places for a worker: ``process`` has it, or the next one starts at ``due``, in monotonic seconds."""

    process: subprocess.Popen[bytes]
    pauses: Pauses = field(default_factory=Pauses)
    due: float | None = None


class Workers:
    """``settings.workers`` processes that accept from one socket, as children of this process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stopping = False
        self._workers: list[_Worker] = []

    def run(self) -> int:
        """Until SIGINT or SIGTERM; or at the first start, with its code, until a worker says that it cannot start."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        alive, held = os.pipe()
        started, told = os.pipe()
        os.set_blocking(started, False)
        with tempfile.TemporaryDirectory(prefix="quartet-metrics-") as folder, _bound(self._settings) as listening:
            try:
                return self._watch((listening.fileno(), alive, told), started, folder)
            finally:
                # Its end tells the workers, should a signal not reach them.
                os.close(held)
                self._end()
                for descriptor in (alive, started, told):
                    os.close(descriptor)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _watch(self, descriptors: Sequence[int], started: int, folder: str) -> int:
        self._workers = [_Worker(_start(descriptors, folder)) for _ in range(self._settings.workers)]
        accepting = 0
        while not self._stopping:
            time.sleep(_LOOK_SECONDS)
            accepting += _count(started)
            for worker in self._workers:
                now = time.monotonic()
                code = worker.process.poll()
                if worker.due is None and code is not None:
                    # Once all have run, what one of them lacks is no reason to take the others away.
                    if code == CANNOT_START and accepting < len(self._workers):
                        return code
                    worker.due = now + worker.pauses.next(now)
                    fields = {"pid": worker.process.pid, "code": code, "seconds": worker.due - now}
                    log.error("a worker ended and is started again", extra={"fields": fields})
                    forget_process(worker.process.pid, folder)
                if worker.due is not None and worker.due <= now and not self._stopping:
                    worker.process, worker.due = _start(descriptors, folder), None
        return 0

    def _end(self) -> None:
        processes = [worker.process for worker in self._workers]
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + _STOP_SECONDS
        for process in processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _start(descriptors: Sequence[int], folder: str) -> subprocess.Popen[bytes]:
    """A worker that has ``descriptors``: the listening socket, the pipe of the parent's end, the pipe of starts."""
    command = [sys.executable, "-m", "frontend", "worker", *map(str, descriptors)]
    # A session of its own: a terminal's Ctrl-C is for the parent to pass on.
    return subprocess.Popen(
        command, pass_fds=descriptors, env={**os.environ, METRICS_FOLDER: folder}, start_new_session=True
    )


def _count(started: int) -> int:
    """How many workers have said since the last time that they accept requests."""
    try:
        return len(os.read(started, 4096))
    except BlockingIOError:
        return 0


def _bound(settings: Settings) -> socket.socket:
    """Bound but not listening: callers are refused until the first worker accepts."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((settings.host, settings.port))
    except OSError:
        bound.close()
        raise
    return bound
