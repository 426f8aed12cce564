"""Decides which words of a growing recording are final: those on which two passes over it agree.

The algorithm is LocalAgreement-2 (Machacek, Dabre and Bojar, "Turning Whisper into Real-Time Transcription System",
2023). Words that were sent are not taken back, so every later pass is read as a continuation of them. The last pass may
correct them: it transcribes the whole recording.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

_MARK = re.compile(r"[.,;:?!…。，？！、।،؛؟۔]+$")
# Words that the search for the start of a continuation compares, and the seconds by which that start may be off.
_COMPARED = 6
_SHIFT_SECONDS = 2.0
# Seconds in which a pause is searched where a pass may begin.
_SEARCHED_SECONDS = 4.0
# Numbers of words that a loop of the model repeats.
_REPEATED = range(2, 7)
# Seconds in which nobody says four words.
_RUSHED_SECONDS = 0.25


@dataclass(frozen=True)
class TimedWord:
    """A word with its leading space; times in seconds from the start of the recording."""

    text: str
    start: float
    end: float

    def later(self, seconds: float) -> "TimedWord":
        return replace(self, start=self.start + seconds, end=self.end + seconds)

    @property
    def letters(self) -> str:
        """The word without case and punctuation, which differ between passes."""
        # Many vowels of Hindi and Thai are marks, which are no letters for Python.
        kept = (each for each in self.text.casefold() if each.isalnum() or unicodedata.category(each).startswith("M"))
        return "".join(kept) or self.text


class Agreement:
    """The sent words of one recording."""

    def __init__(self) -> None:
        self._sent: list[TimedWord] = []
        self._open: Sequence[TimedWord] = ()
        # Whether the last sent word has lost its punctuation.
        self._is_bare = False
        self._last: Sequence[TimedWord] = ()

    @property
    def words(self) -> Sequence[TimedWord]:
        """The words of the last pass; before it, and if it had none, the sent words."""
        return self._last or self._sent

    @property
    def text(self) -> str:
        return "".join(word.text for word in self.words).strip()

    @property
    def end(self) -> float:
        """The end of the last sent word, in seconds."""
        return self._sent[-1].end if self._sent else 0.0

    @property
    def is_settled(self) -> bool:
        """Whether the last pass had nothing that is not sent."""
        return not self._open

    def before(self, latest: float) -> list[TimedWord]:
        """The sent words up to the longest pause that begins in the seconds before ``latest``, if there is any."""
        ends = [
            (following.start - word.end, count)
            for count, (word, following) in enumerate(pairwise(self._sent), 1)
            if latest - _SEARCHED_SECONDS <= word.end <= latest
        ]
        return self._sent[: max(ends)[1]] if ends else []

    def add(self, words: Sequence[TimedWord], *, complete: bool = False) -> str:
        """Take a pass over the recording so far, and return the text to send: all if the words are ``complete``."""
        index = following(self._sent, words, self.end)
        rest = words[index:]
        pairs = zip(rest, rest if complete else self._open, strict=False)
        agreed = sum(1 for _ in takewhile(lambda pair: pair[0].letters == pair[1].letters, pairs))
        self._open = rest[agreed:]
        return self._send(words, index, index + agreed, more=True)

    def finish(self, words: Sequence[TimedWord]) -> str:
        """Take the last pass, over the whole recording, and return the text that was not sent yet."""
        self._open, self._last = (), words
        return self._send(words, following(self._sent, words, self.end), len(words), more=False)

    def _send(self, words: Sequence[TimedWord], first: int, end: int, *, more: bool) -> str:
        """The text of ``words[first:end]``, after the punctuation that was left off."""
        begins, mark = not self._sent, ""
        if self._sent and first and words[first - 1].letters == self._sent[-1].letters and (first < end or not more):
            mark = _mark(words[first - 1].text) if self._is_bare else ""
            self._sent[-1] = replace(self._sent[-1], text=self._sent[-1].text + mark)
            self._is_bare = False
        new = list(words[first:end])
        if new:
            # The model ends its text with a full stop, even in the middle of a sentence.
            self._is_bare = more and end == len(words)
            new[-1] = replace(new[-1], text=new[-1].text.removesuffix(_mark(new[-1].text) if self._is_bare else ""))
        self._sent += new
        text = "".join(word.text for word in new)
        return mark + (text.lstrip() if begins else text)


def following(said: Sequence[TimedWord], words: Sequence[TimedWord], at: float) -> int:
    """The number of ``words`` that repeat what was ``said`` before them, which ends about at the second ``at``."""
    if not (said and words):
        return 0
    tail = [word.letters for word in said[-_COMPARED:]]
    letters = [word.letters for word in words]
    best, index = -math.inf, -1
    for end, second in enumerate([*(word.start for word in words), words[-1].end]):
        if abs(second - at) > _SHIFT_SECONDS:
            continue
        before = letters[max(0, end - len(tail)) : end]
        equal = sum(own == other for own, other in zip(reversed(before), reversed(tail), strict=False))
        # The last word counts more: it is where the continuation begins.
        score = 2 * equal + (before[-1:] == tail[-1:]) - abs(second - at)
        if score > best:
            best, index = score, end
    return index if index >= 0 else sum(word.start < at for word in words)


def is_rushed(words: Sequence[TimedWord]) -> bool:
    """Whether words follow each other faster than people speak: the model repeats itself at the end of short audio."""
    return any(last.end - first.start < _RUSHED_SECONDS for first, last in zip(words, words[3:], strict=False))


def repeats_itself(words: Sequence[TimedWord]) -> bool:
    """Whether words are said twice in a row: short audio, or the text before it, can lead the model into a loop."""
    letters = [word.letters for word in words]
    return any(
        letters[index : index + count] == letters[index + count : index + 2 * count]
        for count in _REPEATED
        for index in range(len(letters) - 2 * count + 1)
    )


def _mark(text: str) -> str:
    """The punctuation at the end of a word; empty if it has no letters."""
    mark = _MARK.search(text)
    return mark[0] if mark and mark.start() and text[: mark.start()].strip() else ""
