"""From Whisper's tokens to segments and words. Pure: no model, no Triton."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]

SECONDS_PER_TIMESTAMP = 0.02
_PUNCTUATION_AFTER = "\"'.。,，!！?？:：”)]}、…»"
# Written without spaces between words: each character counts as one.
_UNSPACED_LANGUAGES = frozenset({"zh", "ja", "th", "lo", "my", "yue"})


@dataclass
class Segment:
    """Text between two timestamps; times in seconds from the start of the window, ``tokens`` without timestamps."""

    start: float
    end: float
    tokens: list[int] = field(default_factory=list)
    text: str = ""


@dataclass(frozen=True)
class Word:
    """A word with its time in seconds, its mean probability and the index of its segment."""

    start: float
    end: float
    text: str
    probability: float
    segment: int


def split_segments(tokens: Sequence[int], first_timestamp: int, end_token: int, seconds: float) -> list[Segment]:
    """Cut a token sequence at its timestamps; times never go back nor past ``seconds``."""
    segments = [Segment(0.0, seconds)]
    for token in tokens:
        current = segments[-1]
        if token >= first_timestamp:
            stamp = min(max((token - first_timestamp) * SECONDS_PER_TIMESTAMP, current.start), seconds)
            current.end = stamp
            segments.append(Segment(stamp, seconds))
        elif token < end_token:
            current.tokens.append(token)
    return [segment for segment in segments if segment.tokens]


def compression_ratio(text: str) -> float:
    """How much zlib shortens a text; over 2.4 it repeats itself (Radford et al. 2022, section 4.5)."""
    data = text.encode()
    return len(data) / len(zlib.compress(data)) if data else 1.0


def decode_pieces(tokens: Sequence[int], decode: Callable[[list[int]], str]) -> list[str]:
    """The text that each token adds; a token that ends inside a character adds nothing, the next one all of it."""
    pieces: list[str] = []
    pending: list[int] = []
    for token in tokens:
        pending.append(token)
        text = decode(pending)
        if text.endswith("\ufffd"):
            pieces.append("")
        else:
            pieces.append(text)
            pending = []
    return pieces


def group_words(pieces: Sequence[str], language: str) -> list[list[int]]:
    """Indices of token ``pieces`` (each a decoded string) that make one word; punctuation joins the word before."""
    words: list[list[int]] = []
    for index, piece in enumerate(pieces):
        starts = piece.startswith(" ") or language in _UNSPACED_LANGUAGES
        only_punctuation = bool(piece.strip()) and all(c in _PUNCTUATION_AFTER for c in piece.strip())
        if words and (only_punctuation or not starts):
            words[-1].append(index)
        else:
            words.append([index])
    return words


def token_times(alignments: Sequence[tuple[int, int]], tokens: int) -> Times:
    """Start seconds of each of ``tokens`` text tokens and of the end, [tokens + 1], from (token, frame) pairs."""
    # Of several frames of a token, the first one stays.
    frames = dict(reversed(alignments))
    frame = alignments[-1][1] if alignments else 0
    times = np.empty(tokens + 1)
    for token in reversed(range(tokens + 1)):
        # A token without a frame of its own starts where the next one does.
        frame = frames.get(token, frame)
        times[token] = frame * SECONDS_PER_TIMESTAMP
    return times


def place_words(
    segments: Sequence[Segment],
    pieces: Sequence[Sequence[str]],
    times: Times,
    probabilities: Sequence[float],
    language: str,
) -> list[Word]:
    """Words of all segments; starts and ends ascend and stay inside their segment."""
    words: list[Word] = []
    offset = 0
    for index, (segment, parts) in enumerate(zip(segments, pieces, strict=True)):
        clock = segment.start
        for group in group_words(parts, language):
            first, last = offset + group[0], offset + group[-1]
            start = min(max(float(times[first]), clock), segment.end)
            end = min(max(float(times[last + 1]), start), segment.end)
            text = "".join(parts[i] for i in group)
            words.append(Word(start, end, text, float(np.mean(probabilities[first : last + 1])), index))
            clock = end
        offset += len(parts)
    return words
