"""Decides which words of a growing recording are final: those on which two passes over it agree.

The algorithm is LocalAgreement-2 (Machacek, Dabre and Bojar, "Turning Whisper into Real-Time Transcription System",
2023). Words that were sent never change, so every later pass is read as a continuation of them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

_NOT_LETTERS = re.compile(r"[\W_]+")
# Sent words that the search for the place of a continuation compares, and how far that place may be off.
_COMPARED = 6
_SHIFT = 4
# Seconds by which the time of a word may differ between two passes.
_TOLERANCE = 0.15


@dataclass(frozen=True)
class Heard:
    """A word with its leading space; times in seconds from the start of the recording."""

    text: str
    start: float
    end: float

    @property
    def letters(self) -> str:
        """The word without case and punctuation, which differ between passes."""
        return _NOT_LETTERS.sub("", self.text.casefold()) or self.text


class Agreement:
    """The sent words of one recording."""

    def __init__(self) -> None:
        self._sent: list[Heard] = []
        self._open: Sequence[Heard] = ()

    @property
    def text(self) -> str:
        """The sent words."""
        return "".join(word.text for word in self._sent).lstrip()

    @property
    def end(self) -> float:
        """The end of the last sent word, in seconds."""
        return self._sent[-1].end if self._sent else 0.0

    @property
    def is_settled(self) -> bool:
        """Whether the last pass heard nothing that is not sent."""
        return not self._open

    def add(self, words: Sequence[Heard]) -> str:
        """Take a pass over the recording so far, and return the words to send."""
        rest = self._continuation(words)
        agreed = list(takewhile(lambda pair: pair[0].letters == pair[1].letters, zip(rest, self._open, strict=False)))
        self._open = rest[len(agreed) :]
        return self._send(rest[: len(agreed)])

    def finish(self, words: Sequence[Heard]) -> str:
        """Take the last pass, over the whole recording, and return the rest of its words."""
        self._open = ()
        return self._send(self._continuation(words))

    def _send(self, words: Sequence[Heard]) -> str:
        before = bool(self._sent)
        self._sent += words
        text = "".join(word.text for word in words)
        return text if before else text.lstrip()

    def _continuation(self, words: Sequence[Heard]) -> Sequence[Heard]:
        """The words of a pass after those that were sent."""
        sent = len(self._sent)
        if not sent:
            return words
        tail = [word.letters for word in self._sent[-_COMPARED:]]
        letters = [word.letters for word in words]
        best, place = 0, -1
        for end in sorted(range(max(0, sent - _SHIFT), sent + _SHIFT + 1), key=lambda end: abs(end - sent)):
            before = letters[max(0, end - len(tail)) : end]
            equal = sum(own == other for own, other in zip(reversed(before), reversed(tail), strict=False))
            # The last word counts more: it is where the continuation begins.
            score = 2 * equal + (bool(before) and before[-1] == tail[-1])
            if end <= len(words) and score > best:
                best, place = score, end
        if place < 0:
            # The pass heard the sent words differently, so only times are left to go by.
            return [word for word in words if word.start >= self.end - _TOLERANCE]
        return words[place:]
