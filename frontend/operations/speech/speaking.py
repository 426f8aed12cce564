"""A text that is spoken, and the limit of its length."""

from collections.abc import Callable
from dataclasses import dataclass

from frontend.dispatch.context import RequestContext
from frontend.errors import InvalidRequest
from frontend.operations.speech.protocol import SpeechRequest
from frontend.operations.speech.voices import ExportedVoice


class LengthLimit:
    """Limits the audio of one request to ``most`` seconds, because spoken numbers are five times as long as words.

    ``param`` is the parameter with the text. ``reserve`` reserves the bytes beyond the ``expected`` ones.
    """

    def __init__(
        self, most: float, sample_rate: int, param: str, expected: int, reserve: Callable[[int], None]
    ) -> None:
        self._most, self._sample_rate, self._param, self._reserve = most, sample_rate, param, reserve
        self._samples, self._reserved = 0, expected

    def add(self, samples: int) -> None:
        """Add samples. Raises ``InvalidRequest`` if the total is too long, before the rest is spoken."""
        self._samples += samples
        if self._samples > self._most * self._sample_rate:
            message = f"{self._param} makes more than {self._most:g} s of audio: send it in several requests"
            raise InvalidRequest(message, param=self._param)
        # A sample has two bytes.
        if (beyond := 2 * self._samples - self._reserved) > 0:
            self._reserved += beyond
            self._reserve(beyond)


@dataclass(frozen=True)
class Speaking:
    """What the steps of one request share."""

    request: SpeechRequest
    voice: ExportedVoice
    context: RequestContext
    length: LengthLimit

    def refusal(self, reason: str) -> InvalidRequest:
        """The refusal of the text for a reason."""
        name = self.request.text_field
        return InvalidRequest(f"{name} {reason}", param=name)
