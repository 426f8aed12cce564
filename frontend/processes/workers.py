"""Frontends over one listening socket: started together, a dead one started again, replaced one by one, ended together.

There is always this parent, for a single worker too: it holds the sockets while what accepts from them is replaced.
"""

import os
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import FrameType

from frontend.config.settings import Settings
from frontend.observe.exposition import forget_process
from frontend.observe.logs import log
from frontend.processes.pauses import Pauses
from frontend.processes.renewal import Renewal
from frontend.processes.sockets import Sockets
from frontend.processes.status import SharedStatus, WorkerCounts
from frontend.processes.worker import Descriptors, Worker, reap_strangers

_LOOK_SECONDS = 0.25
# What one that has never accepted takes to end, and one that was told twice.
_SOON_SECONDS = 5.0
CANNOT_START = 2
# As a shell counts a command that a signal ended.
_ENDED_BY = 128


@dataclass
class _Place:
    """A place for a worker: ``worker`` has it, or the next one starts at ``due``, in monotonic seconds."""

    worker: Worker
    pauses: Pauses = field(default_factory=Pauses)
    due: float | None = None


class Workers:
    """``settings.workers`` processes that accept from one socket, as children of this process.

    ``command`` starts one; ``read`` reads the settings anew, or raises ``SettingsError``.
    """

    def __init__(self, settings: Settings, command: Sequence[str], read: Callable[[], Settings]) -> None:
        self._settings, self._command = settings, command
        self._renewal = Renewal(read, self._start)
        self._told: list[signal.Signals] = []
        self._places: list[_Place] = []
        # Those that finish what they have begun, and when they are ended by force.
        self._leaving: dict[Worker, float] = {}
        self._restarts = 0
        self._all_ran = False

    def run(self) -> int:
        """Until SIGINT or SIGTERM; or at the first start, with its code, until a worker says that it cannot start."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._hear)
        with ExitStack() as closing:
            self._folder = closing.enter_context(tempfile.TemporaryDirectory(prefix="quartet-metrics-"))
            self._sockets = Sockets(self._settings)
            closing.callback(self._sockets.close)
            self._status = SharedStatus.new()
            closing.callback(self._status.close)
            self._alive, held = os.pipe()
            self._started, told = os.pipe()
            os.set_blocking(self._started, False)
            self._shared = Descriptors(*self._sockets.descriptors, self._alive, told, self._status.descriptor)
            for descriptor in (self._alive, self._started, told):
                closing.callback(os.close, descriptor)
            try:
                return self._watch()
            finally:
                # Its end tells the workers, should a signal not reach them.
                os.close(held)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._told.append(signal.Signals(number))

    def _start(self, settings: Settings) -> Worker:
        return Worker(self._command, settings, self._shared, self._folder)

    def _watch(self) -> int:
        self._places = [_Place(self._start(self._settings)) for _ in range(self._settings.workers)]
        while True:
            time.sleep(_LOOK_SECONDS)
            self._note_who_accepts()
            for number in self._take_told():
                if number is not signal.SIGHUP:
                    return self._end(number)
                self._renewal.ask()
            if not all(self._mend(place) for place in self._places):
                self._end(signal.SIGINT)
                return CANNOT_START
            self._renew()
            self._bury()
            self._tell()

    def _take_told(self) -> list[signal.Signals]:
        told, self._told = self._told, []
        return told

    def _everyone(self) -> list[Worker]:
        return [*(place.worker for place in self._places), *self._leaving, *self._renewal.starting]

    def _note_who_accepts(self) -> None:
        try:
            pids = os.read(self._started, 4096).split()
        except BlockingIOError:
            return
        for worker in self._everyone():
            worker.accepts |= str(worker.pid).encode() in pids
        self._all_ran |= all(place.worker.accepts for place in self._places)

    def _mend(self, place: _Place) -> bool:
        """Start a dead worker again, at once or after a pause; not one that has said at the first start why it ends."""
        now = time.monotonic()
        if place.due is None and (code := place.worker.ended()) is not None:
            # Once all have run, what one of them lacks is no reason to take the others away.
            if code == CANNOT_START and not self._all_ran:
                return False
            place.worker.accepts = False
            place.due = now + place.pauses.next(now)
            fields = {"pid": place.worker.pid, "code": code, "seconds": place.due - now}
            log.error("a worker ended and is started again", extra={"fields": fields})
            forget_process(place.worker.pid, self._folder)
        if place.due is not None and place.due <= now:
            place.worker, place.due = self._start(self._settings), None
            self._restarts += 1
        return True

    def _renew(self) -> None:
        """Put a worker with renewed settings into the place of an old one, as soon as it accepts."""
        old = [place for place in self._places if place.worker.settings is not self._renewal.settings]
        # No more than twice as many workers as are wanted.
        room = len(self._leaving) < self._settings.workers
        if (worker := self._renewal.next(bool(old), room, self._settings)) is None:
            return
        self._settings = worker.settings
        # The last old one may have died, and was started again as a new one.
        place = old[0] if old else self._places[0]
        self._leave(place.worker)
        place.worker, place.due = worker, None
        while len(self._places) > self._settings.workers:
            self._leave(self._places.pop().worker)
        while len(self._places) < self._settings.workers:
            self._places.append(_Place(self._start(self._settings)))

    def _leave(self, worker: Worker) -> None:
        worker.accepts = False
        worker.tell(signal.SIGHUP)
        self._leaving[worker] = time.monotonic() + worker.settings.stop_seconds

    def _bury(self) -> None:
        """Let go of what has ended."""
        for worker, until in list(self._leaving.items()):
            if worker.ended() is None and time.monotonic() < until:
                continue
            worker.kill()
            del self._leaving[worker]
            forget_process(worker.pid, self._folder)
        reap_strangers(self._everyone())

    def _tell(self) -> None:
        failing = sum(place.due is not None for place in self._places)
        accepting = sum(place.worker.accepts for place in self._places)
        leaving = len(self._leaving)
        counts = WorkerCounts(self._settings.workers, accepting, leaving, restarts=self._restarts, failing=failing)
        self._status.write(counts)

    def _end(self, number: signal.Signals) -> int:
        """End all; what is left is killed when its time is up, or soon where this is said a second time."""
        # The last worker's end closes them: nobody else accepts what comes.
        self._sockets.close()
        workers, code, began = self._everyone(), 0, time.monotonic()
        seconds = {each: each.settings.stop_seconds if each.accepts else _SOON_SECONDS for each in workers}
        seconds |= {each: until - began for each, until in self._leaving.items()}
        for worker in workers:
            worker.tell(number)
        while left := [worker for worker in workers if worker.ended() is None]:
            time.sleep(_LOOK_SECONDS)
            again = [each for each in self._take_told() if each is not signal.SIGHUP]
            if again and not code:
                code, soon = _ENDED_BY + again[0], time.monotonic() - began + _SOON_SECONDS
                seconds = {each: min(until, soon) for each, until in seconds.items()}
                for worker in left:
                    worker.tell(signal.SIGTERM)
            for worker in left:
                if time.monotonic() - began > seconds[worker]:
                    log.error("a worker did not end in time and is killed", extra={"fields": {"pid": worker.pid}})
                    worker.kill()
        return code
