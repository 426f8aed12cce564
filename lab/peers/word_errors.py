"""Word errors of transcripts, and errors of word times.

Both texts are normalised first, in the same way for every side: Unicode NFKC, numbers in words (num2words), small
letters, and no characters other than letters and digits. Other spellings, abbreviations and accents count as errors.
The error rate is (words replaced + missing + added) / words said, over all files together.
"""

import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import jiwer
from num2words import num2words

from client.recordings import words
from lab.peers.recorded import Recording

# A number ends at a point or comma, which marks thousands in one language and decimals in another.
_NUMBER = re.compile(r"\d+")

Word = tuple[str, float, float]


@dataclass(frozen=True)
class Heard:
    """A side's transcript of a file: the text, and words with start and end if it has times."""

    text: str
    words: Sequence[Word] = ()


@dataclass(frozen=True)
class Errors:
    """The numbers of words said and of wrong words.

    ``late`` is for each prompt whose first word was heard and timed: seconds from the prompt's start to the word's.
    """

    said: int
    wrong: int
    late: tuple[float, ...]

    @property
    def rate(self) -> float:
        return self.wrong / self.said

    @property
    def start_error(self) -> float | None:
        """The median error of starts in seconds, or None without word times."""
        return statistics.median(self.late) if self.late else None


def spelled(text: str, language: str) -> list[str]:
    """The normalised words of a text."""
    return words(_NUMBER.sub(lambda found: f" {num2words(int(found[0]), lang=language)} ", text))


def errors(recordings: Sequence[Recording], answers: Sequence[Heard]) -> Errors:
    each = [_errors(recording, answer) for recording, answer in zip(recordings, answers, strict=True)]
    late = tuple(second for found in each for second in found.late)
    return Errors(sum(found.said for found in each), sum(found.wrong for found in each), late)


def _errors(recording: Recording, heard: Heard) -> Errors:
    language = recording.language
    said = [spelled(text, language) for text in recording.texts]
    flat = [word for prompt in said for word in prompt]
    wrong = compared(flat, spelled(heard.text, language))
    timed = [(word, start) for text, start, _ in heard.words for word in spelled(text, language)]
    return Errors(len(flat), wrong, tuple(_late(said, recording.starts, timed)))


def compared(said: Sequence[str], heard: Sequence[str]) -> int:
    """The number of words replaced, missing and added."""
    if not heard:
        return len(said)
    found = jiwer.process_words(" ".join(said), " ".join(heard))
    return int(found.substitutions + found.deletions + found.insertions)


def _late(
    said: Sequence[Sequence[str]], starts: Sequence[float], timed: Sequence[tuple[str, float]]
) -> Iterable[float]:
    """The error of each prompt's start whose first word was recognised."""
    if not timed:
        return
    firsts, place = {}, 0
    for prompt, start in zip(said, starts, strict=True):
        firsts[place] = start
        place += len(prompt)
    flat = " ".join(word for prompt in said for word in prompt)
    for chunk in jiwer.process_words(flat, " ".join(word for word, _ in timed)).alignments[0]:
        if chunk.type != "equal":
            continue
        for at in range(chunk.ref_start_idx, chunk.ref_end_idx):
            if at in firsts:
                yield abs(timed[chunk.hyp_start_idx + at - chunk.ref_start_idx][1] - firsts[at])
