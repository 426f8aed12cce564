"""New workers for old ones, one after the other, with the settings read anew."""

import time
from collections.abc import Callable, Sequence

from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from frontend.observe.logs import log
from frontend.processes.pauses import Pauses
from frontend.processes.sockets import check_same
from frontend.processes.worker import Worker

# What a start may take; a database is moved to this version's tables in it.
_START_SECONDS = 300.0


class Renewal:
    """A rolling restart: ``start`` starts a worker, and the next one waits until that accepts requests.

    Where the first of them does not come to that, the settings are refused and nothing has changed. Once one has, they
    are known to be good, and one that fails is tried again.
    """

    def __init__(self, read: Callable[[], Settings], start: Callable[[Settings], Worker]) -> None:
        self._read, self._start = read, start
        self._asked = False
        # Those of the workers that are to be, where any are.
        self.settings: Settings | None = None
        self._worker: Worker | None = None
        self._pauses, self._due = Pauses(), 0.0

    @property
    def starting(self) -> Sequence[Worker]:
        """The one that does not accept yet."""
        return [self._worker] if self._worker is not None else []

    def ask(self) -> None:
        """Renew all, when what is under way is done."""
        self._asked = True

    def next(self, old: bool, room: bool, current: Settings) -> Worker | None:
        """A worker that accepts, for the place of an old one; ``old`` tells whether there are any, ``room`` whether
        one more may be started.
        """
        if self._worker is not None:
            return self._look(current)
        if self.settings is not None and not old:
            log.info("every worker is renewed")
            self.settings = None
        if self._asked and self.settings is None:
            self._begin(current)
        elif self.settings is not None and room and time.monotonic() >= self._due:
            self._worker = self._start(self.settings)
        return None

    def _begin(self, current: Settings) -> None:
        self._asked = False
        try:
            settings = self._read()
            check_same(current, settings)
        except SettingsError as error:
            _refuse(str(error))
        else:
            log.info("the workers are renewed, one after the other")
            self.settings = settings

    def _look(self, current: Settings) -> Worker | None:
        """What became of the one that starts."""
        worker = self._worker
        assert worker is not None
        ended = worker.ended()
        if ended is None and not worker.accepts and time.monotonic() < worker.born + _START_SECONDS:
            return None
        self._worker = None
        if ended is None and worker.accepts:
            return worker
        worker.kill()
        if current is self.settings:
            self._due = time.monotonic() + self._pauses.next(time.monotonic())
            log.error("a new worker did not start and is tried again", extra={"fields": {"code": ended}})
        else:
            self.settings = None
            _refuse("a worker does not start with them")
        return None


def _refuse(reason: str) -> None:
    log.error("the settings that were read anew are refused: the old ones hold", extra={"fields": {"details": reason}})
