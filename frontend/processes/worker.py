"""A worker, from its parent's side: a process of a session of its own that accepts from sockets it was given."""

import os
import pickle
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass

from frontend.config.settings import Settings
from frontend.observe import METRICS_FOLDER


@dataclass(frozen=True)
class Descriptors:
    """What a worker shares with its parent: the listening sockets (``admin`` is -1 where there is none), a pipe that
    ends with the parent, one that takes the process id of a worker that accepts requests, and the shared status.
    """

    listening: int
    admin: int
    alive: int
    started: int
    status: int


@dataclass(frozen=True)
class Start:
    """All that a worker is told at its start."""

    settings: Settings
    descriptors: Descriptors

    @classmethod
    def read(cls, descriptor: int) -> "Start":
        """What the parent has put into the file behind ``descriptor``."""
        with open(descriptor, "rb") as file:
            start = pickle.load(file)
        assert isinstance(start, cls)
        return start


class Worker:
    """One that runs, or has run; ``settings`` are those of all together."""

    def __init__(self, command: Sequence[str], settings: Settings, descriptors: Descriptors, folder: str) -> None:
        """Start it by ``command`` and the descriptor of a file with a ``Start``; its metrics go to ``folder``."""
        self.settings = settings
        self.accepts = False
        self.born = time.monotonic()
        self._code: int | None = None
        shared = [each for each in astuple(descriptors) if each >= 0]
        # In memory, since it holds secrets.
        with open(os.memfd_create("quartet-start"), "wb") as told:
            pickle.dump(Start(settings.for_one_worker(), descriptors), told)
            told.seek(0)
            # A session of its own: a terminal's Ctrl-C is for the parent to pass on.
            self._process = subprocess.Popen(
                [*command, str(told.fileno())],
                pass_fds=[told.fileno(), *shared],
                env={**os.environ, METRICS_FOLDER: folder},
                start_new_session=True,
            )
        self.pid = self._process.pid

    def ended(self) -> int | None:
        """Its exit code, where it has ended; what it had started itself ends with it."""
        if self._code is None and (code := self._process.poll()) is not None:
            self._code = code
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        return self._code

    def tell(self, number: signal.Signals) -> None:
        """SIGTERM: end, in so long as it takes others to see that; SIGINT: end, without that; SIGHUP: another accepts
        in this one's place. A second SIGTERM or SIGINT: end at once.
        """
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it now, with what it has started."""
        if self.ended() is None:
            self._process.kill()
            self._process.wait()
            self.ended()


def reap_strangers(own: Sequence[Worker]) -> None:
    """Let go of ended children that are nobody's: as the first process of a container, this one inherits orphans."""
    pids = {worker.pid for worker in own}
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None or ended.si_pid in pids:
            return
        os.waitpid(ended.si_pid, 0)
