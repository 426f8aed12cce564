"""Word errors of transcripts, and errors of word times.

Both texts are taken to the same words first, for every side alike: compatible forms of letters are made one (NFKC),
numbers in digits are written out in the language (num2words), letters are made small, and what is neither letter nor
digit parts words and is left away. Nothing else is forgiven: no spelling, no abbreviation, no accent. The error rate is
(words replaced + left out + put in) / words said, over all files together.
"""

import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import jiwer
from num2words import num2words

from client.recordings import words
from lab.peers.recorded import Recording

# A point or comma between digits parts thousands in one language and decimals in the other: both are parted.
_NUMBER = re.compile(r"\d+")

Word = tuple[str, float, float]


@dataclass(frozen=True)
class Heard:
    """A side's transcript of a file: the text, and words with start and end if it has times."""

    text: str
    words: Sequence[Word] = ()


@dataclass(frozen=True)
class Errors:
    """The number of words said, and of wrong ones.

    ``late`` has each prompt whose first word was heard and timed: seconds from the prompt's start to the word's.
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
    """The words of a text, its numbers written out."""
    return words(_NUMBER.sub(lambda found: f" {num2words(int(found[0]), lang=language)} ", text))


def errors(recordings: Sequence[Recording], answers: Sequence[Heard]) -> Errors:
    """The errors of all files together."""
    each = [_errors(recording, answer) for recording, answer in zip(recordings, answers, strict=True)]
    late = tuple(second for its in each for second in its.late)
    return Errors(sum(its.said for its in each), sum(its.wrong for its in each), late)


def _errors(recording: Recording, heard: Heard) -> Errors:
    its = recording.language
    said = [spelled(text, its) for text in recording.texts]
    flat = [word for prompt in said for word in prompt]
    wrong = _compared(flat, spelled(heard.text, its))
    timed = [(word, start) for text, start, _ in heard.words for word in spelled(text, its)]
    return Errors(len(flat), wrong, tuple(_late(said, recording.starts, timed)))


def _compared(said: Sequence[str], heard: Sequence[str]) -> int:
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
