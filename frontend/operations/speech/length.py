"""Limits the audio of one request. Spoken numbers are five times as long as words."""

from collections.abc import Callable

from frontend.errors import InvalidRequest


class Length:
    """Of the request whose text is ``param``: ``most`` seconds; ``hold`` hears of bytes beyond the ``expected``."""

    def __init__(self, most: float, sample_rate: int, param: str, expected: int, hold: Callable[[int], None]) -> None:
        self._most, self._sample_rate, self._param, self._hold = most, sample_rate, param, hold
        self._samples, self._held = 0, expected

    def add(self, samples: int) -> None:
        """Add samples; raise 400 if the total is too long, before the rest is spoken."""
        self._samples += samples
        if self._samples > self._most * self._sample_rate:
            message = f"{self._param} makes more than {self._most:g} s of audio: send it in several requests"
            raise InvalidRequest(message, param=self._param)
        # A sample has two bytes.
        if (beyond := 2 * self._samples - self._held) > 0:
            self._held += beyond
            self._hold(beyond)
