"""The parent of the workers: starts them on one listening socket, restarts dead ones, replaces and ends them.

A single worker has a parent too: it keeps the sockets while the worker is replaced.
"""

import itertools
import os
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import FrameType

from frontend.config.settings import Settings
from frontend.observe.logs import log
from frontend.processes.pauses import Pauses
from frontend.processes.renewal import Renewal
from frontend.processes.sockets import bind
from frontend.processes.worker import Descriptors, SharedStatus, Worker, WorkerCounts, reap_orphans

_LOOK_SECONDS = 0.25  # between checks of the workers
# Time to end for a worker that never accepted, and for all after a second signal.
_SOON_SECONDS = 5.0
# Exit status of a worker that cannot start.
CANNOT_START = 2
# Exit status, less the signal's number, of a process that a signal ended.
_ENDED_BY = 128


@dataclass
class _Slot:
    """One of the configured workers. ``due`` is the time of its restart if it is dead, in monotonic seconds."""

    worker: Worker
    pauses: Pauses = field(default_factory=Pauses)
    due: float | None = None


class Workers:
    """``settings.workers`` processes that accept from one socket, as children of this process.

    ``command`` starts one. ``read`` reads the settings again, or raises ``SettingsError``.
    """

    def __init__(self, settings: Settings, command: Sequence[str], read: Callable[[], Settings]) -> None:
        self._settings, self._command = settings, command
        self._renewal = Renewal(read, self._start)
        self._signals: list[signal.Signals] = []
        self._slots: list[_Slot] = []
        # Replaced workers that finish their requests, and the time at which each is killed.
        self._leaving: dict[Worker, float] = {}
        self._restarts = 0
        self._all_ran = False

    def run(self) -> int:
        """Run until SIGINT or SIGTERM, or until a worker cannot start at the first start. Returns the exit status."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._receive)
        with ExitStack() as closing:
            self._folder = closing.enter_context(tempfile.TemporaryDirectory(prefix="quartet-metrics-"))
            self._sockets = bind(self._settings)
            self._status = SharedStatus.new()
            alive, parent = os.pipe()
            self._started, started = os.pipe()
            os.set_blocking(self._started, False)
            descriptors = [listening.fileno() for listening in self._sockets]
            admin = descriptors[1] if len(descriptors) > 1 else -1
            self._shared = Descriptors(descriptors[0], admin, alive, started, self._status.descriptor)
            for descriptor in (alive, self._started, started, self._status.descriptor):
                closing.callback(os.close, descriptor)
            closing.callback(self._close_sockets)
            # The workers notice the end of this pipe, in case a signal does not reach them.
            closing.callback(os.close, parent)
            return self._watch()

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self._signals.append(signal.Signals(number))

    def _take_signals(self) -> list[signal.Signals]:
        taken, self._signals = self._signals, []
        return taken

    def _close_sockets(self) -> None:
        for listening in self._sockets:
            listening.close()

    def _start(self, settings: Settings) -> Worker:
        used = {worker.number for worker in self._workers() if worker.exit_code() is None}
        number = next(number for number in itertools.count() if number not in used)
        return Worker(self._command, settings, self._shared, self._folder, number)

    def _workers(self) -> list[Worker]:
        starting = [self._renewal.worker] if self._renewal.worker is not None else []
        return [*(slot.worker for slot in self._slots), *self._leaving, *starting]

    def _fill(self) -> None:
        """Start workers until there are as many as configured."""
        while len(self._slots) < self._settings.workers:
            self._slots.append(_Slot(self._start(self._settings)))

    def _watch(self) -> int:
        self._fill()
        while True:
            time.sleep(_LOOK_SECONDS)
            self._note_who_accepts()
            for number in self._take_signals():
                if number is not signal.SIGHUP:
                    return self._end(number)
                self._renewal.request()
            if not all(self._restart_if_dead(slot) for slot in self._slots):
                self._end(signal.SIGINT)
                return CANNOT_START
            self._renew()
            self._remove_ended()
            self._publish()

    def _note_who_accepts(self) -> None:
        try:
            pids = os.read(self._started, 4096).split()
        except BlockingIOError:
            return
        for worker in self._workers():
            worker.accepts |= str(worker.pid).encode() in pids
        self._all_ran |= all(slot.worker.accepts for slot in self._slots)

    def _restart_if_dead(self, slot: _Slot) -> bool:
        """Restart a dead worker, at once or after a pause. Returns False if it cannot start at the first start."""
        now = time.monotonic()
        if slot.due is None and (code := slot.worker.exit_code()) is not None:
            # Once all have run, one that cannot start is no reason to end the others.
            if code == CANNOT_START and not self._all_ran:
                return False
            slot.worker.accepts = False
            slot.due = now + slot.pauses.next(now)
            fields = {"pid": slot.worker.pid, "code": code, "seconds": slot.due - now}
            log.error("a worker ended and is started again", extra={"fields": fields})
        if slot.due is not None and slot.due <= now:
            slot.worker, slot.due = self._start(self._settings), None
            self._restarts += 1
        return True

    def _renew(self) -> None:
        """Replace an old worker as soon as a renewed one accepts requests."""
        old = [slot for slot in self._slots if slot.worker.settings is not self._renewal.settings]
        # There are at most twice as many workers as configured.
        room = len(self._leaving) < self._settings.workers
        if (worker := self._renewal.next(bool(old), room, self._settings)) is None:
            return
        self._settings = worker.settings
        # The last old worker may have died and restarted with the new settings.
        slot = old[0] if old else self._slots[0]
        self._replace(slot.worker)
        slot.worker, slot.due = worker, None
        while len(self._slots) > self._settings.workers:
            self._replace(self._slots.pop().worker)
        self._fill()

    def _replace(self, worker: Worker) -> None:
        worker.accepts = False
        worker.send_signal(signal.SIGHUP)
        self._leaving[worker] = time.monotonic() + worker.settings.stop_seconds

    def _remove_ended(self) -> None:
        """Forget replaced workers that ended, and kill those that take too long."""
        for worker, until in list(self._leaving.items()):
            if worker.exit_code() is not None or time.monotonic() >= until:
                worker.kill()
                del self._leaving[worker]
        reap_orphans(self._workers())

    def _publish(self) -> None:
        failing = sum(slot.due is not None for slot in self._slots)
        accepting = sum(slot.worker.accepts for slot in self._slots)
        leaving = len(self._leaving)
        counts = WorkerCounts(self._settings.workers, accepting, leaving, restarts=self._restarts, failing=failing)
        self._status.write(counts)

    def _end(self, number: signal.Signals) -> int:
        """End all workers and return the exit status. Kill those that take too long; a second signal hurries them."""
        # The last worker that ends closes the sockets for good.
        self._close_sockets()
        workers, code, began = self._workers(), 0, time.monotonic()
        seconds = {worker: worker.settings.stop_seconds if worker.accepts else _SOON_SECONDS for worker in workers}
        seconds |= {worker: until - began for worker, until in self._leaving.items()}
        for worker in workers:
            worker.send_signal(number)
        while left := [worker for worker in workers if worker.exit_code() is None]:
            time.sleep(_LOOK_SECONDS)
            again = [sent for sent in self._take_signals() if sent is not signal.SIGHUP]
            if again and not code:
                code, soon = _ENDED_BY + again[0], time.monotonic() - began + _SOON_SECONDS
                seconds = {worker: min(until, soon) for worker, until in seconds.items()}
                for worker in left:
                    worker.send_signal(signal.SIGTERM)
            for worker in left:
                if time.monotonic() - began > seconds[worker]:
                    log.error("a worker did not end in time and is killed", extra={"fields": {"pid": worker.pid}})
                    worker.kill()
        return code
