"""Several frontends over one listening socket: started together, one started again when it dies, stopped together."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from types import FrameType

from frontend.config import Settings
from frontend.observe import METRICS_FOLDER, forget_process, log

_LOOK_SECONDS = 0.1
# A worker that dies at once must not be started again and again without a pause.
_AGAIN_SECONDS = 1.0
# Longer than a worker itself waits for its requests to end.
_STOP_SECONDS = 15.0
CANNOT_START = 2


class Workers:
    """``settings.workers`` processes that accept from one socket, as children of this process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stopping = False
        self._running: list[subprocess.Popen[bytes]] = []

    def run(self) -> int:
        """Until SIGINT or SIGTERM; the exit code is that of a worker that says it cannot start."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        alive, held = os.pipe()
        with tempfile.TemporaryDirectory(prefix="quartet-metrics-") as folder, _bound(self._settings) as listening:
            try:
                return self._watch(listening, alive, folder)
            finally:
                # Its end tells the workers, should a signal not reach them.
                os.close(held)
                self._end()
                os.close(alive)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _start(self, listening: socket.socket, alive: int, folder: str) -> subprocess.Popen[bytes]:
        descriptors = (listening.fileno(), alive)
        command = [sys.executable, "-m", "frontend", "worker", *map(str, descriptors)]
        # A session of its own: a terminal's Ctrl-C is for the parent to pass on.
        return subprocess.Popen(
            command, pass_fds=descriptors, env={**os.environ, METRICS_FOLDER: folder}, start_new_session=True
        )

    def _watch(self, listening: socket.socket, alive: int, folder: str) -> int:
        self._running = [self._start(listening, alive, folder) for _ in range(self._settings.workers)]
        while not self._stopping:
            time.sleep(_LOOK_SECONDS)
            for place, process in enumerate(self._running):
                code = process.poll()
                if code is None or self._stopping:
                    continue
                if code == CANNOT_START:
                    return code
                log.error("a worker ended and is started again", extra={"fields": {"pid": process.pid, "code": code}})
                forget_process(process.pid, folder)
                time.sleep(_AGAIN_SECONDS)
                self._running[place] = self._start(listening, alive, folder)
        return 0

    def _end(self) -> None:
        for process in self._running:
            process.terminate()
        deadline = time.monotonic() + _STOP_SECONDS
        for process in self._running:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


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
