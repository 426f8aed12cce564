"""Pauses between restarts."""

_LONGEST_SECONDS = 30.0
# After this time without a restart, the next one has no pause.
_QUIET_SECONDS = 60.0


class Pauses:
    """The pause before each restart: none at first, then growing while restarts follow each other."""

    def __init__(self) -> None:
        self._pause, self._last = 0.0, -_QUIET_SECONDS

    def next(self, now: float) -> float:
        """Seconds to wait before a start at ``now``, in monotonic seconds."""
        soon = now - self._last < _QUIET_SECONDS
        self._pause = min(_LONGEST_SECONDS, max(1.0, 2 * self._pause)) if soon else 0.0
        self._last = now
        return self._pause
