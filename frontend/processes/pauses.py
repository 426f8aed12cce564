"""Pauses between restarts."""

_LONGEST_PAUSE = 30.0
_QUIET_SECONDS = 60.0


class Pauses:
    """How long to wait before each new start: not at all at first, longer and longer when it is needed again soon."""

    def __init__(self) -> None:
        self._pause, self._last = 0.0, -_QUIET_SECONDS

    def next(self, now: float) -> float:
        """Seconds to wait before a start at ``now``, in monotonic seconds."""
        soon = now - self._last < _QUIET_SECONDS
        self._pause = min(_LONGEST_PAUSE, max(1.0, 2 * self._pause)) if soon else 0.0
        self._last = now
        return self._pause
