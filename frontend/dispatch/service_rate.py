"""Service rate: the work that a model does a second while calls wait for it, whatever else uses its processors."""

import math

# Older answers count less: after this many seconds, a third of what new ones do.
_MEAN_SECONDS = 10.0
# The shortest measurement.
_LEAST_SECONDS = 3.0
# After as long without an answer, the model was away, and what it does is measured anew.
_LONGEST_GAP_SECONDS = 10.0


class ServiceRate:
    """The rate since calls began to wait, as an exponentially weighted mean over time."""

    def __init__(self) -> None:
        self._done = self._seconds = 0.0
        self._last: float | None = None

    def note(self, cost: float, now: float) -> None:
        """Count an answered call. The first one begins the measurement."""
        if self._last is None or now - self._last > _LONGEST_GAP_SECONDS:
            self._done = self._seconds = 0.0
        else:
            kept = math.exp((self._last - now) / _MEAN_SECONDS)
            self._done = self._done * kept + cost
            self._seconds = self._seconds * kept + now - self._last
        self._last = now

    def stop(self) -> None:
        """End the measurement, because no calls wait."""
        self._last = None

    @property
    def value(self) -> float:
        """Work per second; 0 if no calls wait, or not for long enough."""
        return self._done / self._seconds if self._last is not None and self._seconds >= _LEAST_SECONDS else 0.0
