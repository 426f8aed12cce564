"""A worker process, as its parent sees it."""

import os
import pickle
import signal
import struct
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass

from prometheus_client.multiprocess import mark_process_dead

from frontend.config.settings import Settings
from frontend.observe import METRICS_FOLDER, METRICS_NUMBER

_COUNTS = struct.Struct("5q")


@dataclass(frozen=True)
class Descriptors:
    """Files that a worker shares with its parent."""

    # The sockets of the API and of the admin port, which is -1 if there is none.
    listening: int
    admin: int
    # A pipe that ends with the parent.
    alive: int
    # A pipe for the process id of a worker that accepts requests.
    started: int
    # The file of a ``SharedStatus``.
    status: int


@dataclass(frozen=True)
class Start:
    """The start parameters of a worker."""

    settings: Settings
    descriptors: Descriptors

    @classmethod
    def read(cls, descriptor: int) -> "Start":
        with open(descriptor, "rb") as file:
            start = pickle.load(file)
        assert isinstance(start, cls)
        return start


@dataclass(frozen=True)
class WorkerCounts:
    """The number of configured workers, of those that accept requests and of those that finish their last requests.

    ``restarts`` counts restarts of dead workers. ``failing`` workers died again so soon that they wait for a restart.
    """

    wanted: int
    accepting: int = 0
    leaving: int = 0
    restarts: int = 0
    failing: int = 0


class SharedStatus:
    """An anonymous file in memory. The parent writes counts to it and every worker reads them."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    @classmethod
    def new(cls) -> "SharedStatus":
        return cls(os.memfd_create("quartet-workers", os.MFD_CLOEXEC))

    def write(self, counts: WorkerCounts) -> None:
        os.pwrite(self.descriptor, _COUNTS.pack(*astuple(counts)), 0)

    def read(self) -> WorkerCounts:
        """The last counts. Raises ``struct.error`` before the first write."""
        return WorkerCounts(*_COUNTS.unpack(os.pread(self.descriptor, _COUNTS.size, 0)))


class Worker:
    """A worker process that was started with ``settings``, which all workers share.

    ``command`` starts it; its last argument is the descriptor of a file with a ``Start``. The worker counts in files of
    ``folder`` that have its ``number``. It continues the counts of the worker that had this number before.
    """

    def __init__(
        self, command: Sequence[str], settings: Settings, descriptors: Descriptors, folder: str, number: int
    ) -> None:
        self.settings, self.number, self._folder = settings, number, folder
        self.accepts = False
        self.started_at = time.monotonic()
        self._code: int | None = None
        inherited = [number for number in astuple(descriptors) if number >= 0]
        # A file in memory, because the settings have secrets.
        with open(os.memfd_create("quartet-start"), "wb") as start:
            pickle.dump(Start(settings.for_one_worker(), descriptors), start)
            start.seek(0)
            # In a session of its own, a terminal's Ctrl-C reaches only the parent.
            self._process = subprocess.Popen(
                [*command, str(start.fileno())],
                pass_fds=[start.fileno(), *inherited],
                env={**os.environ, METRICS_FOLDER: folder, METRICS_NUMBER: str(number)},
                start_new_session=True,
            )
        self.pid = self._process.pid

    def exit_code(self) -> int | None:
        """The exit code, or None while it runs. Its child processes and its gauges end with it."""
        if self._code is None and (code := self._process.poll()) is not None:
            self._code = code
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            mark_process_dead(self.number, self._folder)  # type: ignore[no-untyped-call]
        return self._code

    def send_signal(self, number: signal.Signals) -> None:
        """SIGTERM: end, after load balancers had time to notice. SIGINT: end without that. SIGHUP: another accepts now.

        A second SIGTERM or SIGINT: end at once.
        """
        self._process.send_signal(number)

    def kill(self) -> None:
        if self.exit_code() is None:
            self._process.kill()
            self._process.wait()
            self.exit_code()


def reap_orphans(workers: Sequence[Worker]) -> None:
    """Reap ended children that are no workers. As the first process of a container, the parent inherits orphans."""
    pids = {worker.pid for worker in workers}
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None or ended.si_pid in pids:
            return
        os.waitpid(ended.si_pid, 0)
