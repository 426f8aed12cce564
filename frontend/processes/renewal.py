"""A rolling restart of the workers with new settings."""

import time
from collections.abc import Callable

from frontend.config.reading import PREFIX, SettingsError
from frontend.config.settings import Settings
from frontend.observe.logs import log
from frontend.processes.pauses import Pauses
from frontend.processes.worker import Worker

# The longest start of a worker, which may include a migration of the database.
_START_SECONDS = 300.0
# Settings that cannot change while the sockets are open.
_FIXED = ("host", "port", "admin_host", "admin_port")


class Renewal:
    """Replaces workers one by one: each starts when the one before accepts requests.

    If the first new worker fails to start, the settings are rejected and nothing has changed. Later failures are
    retried, because the settings have worked. ``read`` reads the settings; ``start`` starts a worker with them.
    """

    def __init__(self, read: Callable[[], Settings], start: Callable[[Settings], Worker]) -> None:
        self._read, self._start = read, start
        self._requested = False
        # The new settings during a restart.
        self.settings: Settings | None = None
        # The new worker that does not accept yet.
        self.worker: Worker | None = None
        self._pauses, self._due = Pauses(), 0.0

    def request(self) -> None:
        """Restart all workers, after a restart in progress."""
        self._requested = True

    def next(self, old: bool, room: bool, current: Settings) -> Worker | None:
        """A new worker that accepts requests and replaces an old one.

        ``old``: old workers remain. ``room``: another worker may start. ``current`` are the settings of the workers.
        """
        if self.worker is not None:
            return self._check(self.worker, current)
        if self.settings is not None and not old:
            log.info("every worker is renewed")
            self.settings = None
        if self._requested and self.settings is None:
            self._begin(current)
        elif self.settings is not None and room and time.monotonic() >= self._due:
            self.worker = self._start(self.settings)
        return None

    def _begin(self, current: Settings) -> None:
        self._requested = False
        try:
            settings = self._read()
            for name in _FIXED:
                if getattr(current, name) != getattr(settings, name):
                    raise SettingsError(f"{PREFIX}{name.upper()}: cannot change while the service runs")
        except SettingsError as error:
            _reject(str(error))
        else:
            log.info("the workers are renewed, one after the other")
            self.settings = settings

    def _check(self, worker: Worker, current: Settings) -> Worker | None:
        """Return the new worker if it accepts requests; give it up if it ended or took too long."""
        code = worker.exit_code()
        if code is None and not worker.accepts and time.monotonic() < worker.started_at + _START_SECONDS:
            return None
        self.worker = None
        if code is None and worker.accepts:
            return worker
        worker.kill()
        if current is self.settings:
            self._due = time.monotonic() + self._pauses.next(time.monotonic())
            log.error("a new worker did not start and is tried again", extra={"fields": {"code": code}})
        else:
            self.settings = None
            _reject("a worker does not start with them")
        return None


def _reject(reason: str) -> None:
    log.error("the settings that were read anew are refused: the old ones hold", extra={"fields": {"details": reason}})
