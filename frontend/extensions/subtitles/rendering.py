"""A transcript as subtitles, in SRT or WebVTT: cues of at most two lines, cut where phrases end."""

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from frontend.operations.transcription.answers import Word
from frontend.operations.transcription.assembly import sentences
from frontend.operations.transcription.protocol import Transcription
from frontend.parameters.transcription import SRT, VTT
from frontend.text.sentences import Reader

# A line's longest width: one column for most characters, two for Chinese and Japanese ones.
_COLUMNS = 42
_LINES = 2
# The width for which a long sentence is cut into equal parts: full lines would leave its last word alone.
_PLANNED = 76
# Seconds. A cue is shown for at least the shortest time, unless the next one begins earlier.
_SHORTEST, _LONGEST = 1.0, 7.0
# Seconds that a cue has at least, even if the next one begins at the same time.
_LEAST = 0.1
# Columns per second that people can read. A cue stays longer if there is time before the next one.
_READABLE = 17
# Cues are not joined over a longer pause, in seconds.
_JOINED_PAUSE = 1.0
# Seconds of a pause that ends a phrase, as a comma does.
_BREATH = 0.2
# A cut at the end of a phrase may miss the wanted width by this share of it.
_FOR_A_PHRASE = 0.5
_PHRASE_ENDS = (",", ";", ":", "–", "—", "，", "、", "；", "：")


@dataclass(frozen=True)
class _Piece:
    """A word, or a part of a long one, that is not cut. ``spaced`` is whether a blank comes before it.

    ``start`` and ``end`` are in seconds, ``width`` in columns.
    """

    text: str
    spaced: bool
    start: float
    end: float
    width: int


_Pieces = Sequence[_Piece]


def srt(transcription: Transcription, reader: Reader) -> str:
    """The words as SRT; empty without words."""
    return "".join(
        f"{number}\n{_time(start, ',')} --> {_time(end, ',')}\n{text.replace('-->', '->')}\n\n"
        for number, (start, end, text) in enumerate(cues(transcription, reader), 1)
    )


def vtt(transcription: Transcription, reader: Reader) -> str:
    """The words as WebVTT; only its first line without words."""
    blocks = (
        f"\n{_time(start, '.')} --> {_time(end, '.')}\n{_escaped(text)}\n"
        for start, end, text in cues(transcription, reader)
    )
    return "".join(["WEBVTT\n", *blocks])


# The content type of each format, and what writes it.
FORMATS: Mapping[str, tuple[str, Callable[[Transcription, Reader], str]]] = {
    SRT: ("application/x-subrip; charset=utf-8", srt),
    VTT: ("text/vtt; charset=utf-8", vtt),
}


def cues(transcription: Transcription, reader: Reader) -> Iterator[tuple[float, float, str]]:
    """Start and end in seconds, and the text in one or two lines. Cues are in order and never overlap."""
    spoken = sentences(transcription.words or (), transcription.language, reader)
    groups = _joined([part for sentence in spoken for part in _split(_pieces(sentence))])
    clock = 0.0
    for index, group in enumerate(groups):
        start = max(group[0].start, clock)
        last = index + 1 == len(groups)
        following = max(transcription.duration, group[-1].end) if last else groups[index + 1][0].start
        wanted = max(group[-1].end, start + _SHORTEST, start + _width_of(group) / _READABLE)
        clock = min(wanted, max(following, start + _LEAST), start + _LONGEST)
        yield start, clock, _in_lines(group)


def _pieces(words: Sequence[Word]) -> list[_Piece]:
    """The words, cut where one is longer than a line."""
    pieces: list[_Piece] = []
    for word in words:
        text, spaced = " ".join(word.word.split()), word.word[:1].isspace()
        if pieces and not spaced and _is_mark(text[:1]) and pieces[-1].width < _COLUMNS:
            # A token may end within a character of Thai. A model in a loop may say marks alone, of any number.
            before = pieces.pop()
            word, text, spaced = replace(word, start=before.start), before.text + text, before.spaced
        at = 0
        for part in _parts(text):
            start, end = (word.start + (word.end - word.start) * index / len(text) for index in (at, at + len(part)))
            pieces.append(_Piece(part, spaced and not at, start, end, _width(part)))
            at += len(part)
    return pieces


def _is_mark(character: str) -> bool:
    """Whether it combines with the character before it."""
    return bool(character) and unicodedata.category(character).startswith("M")


def _parts(text: str) -> Iterator[str]:
    """Parts of at most a line's width. A mark stays with its character."""
    begin = width = 0
    for index, character in enumerate(text):
        if width + _width(character) > _COLUMNS and not _is_mark(character):
            yield text[begin:index]
            begin, width = index, 0
        width += _width(character)
    if begin < len(text):
        yield text[begin:]


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _width_of(pieces: _Pieces) -> int:
    """The width of pieces in one line."""
    return sum(piece.width + piece.spaced for piece in pieces) - pieces[0].spaced


def _split(pieces: _Pieces) -> Iterator[_Pieces]:
    """Cut a sentence into parts of similar length that each fit a cue, at the ends of phrases if possible."""
    begin, left = 0, _width_of(pieces) if pieces else 0
    while begin < len(pieces):
        seconds = pieces[-1].end - pieces[begin].start
        count = max(-(-left // _PLANNED), int(seconds // _LONGEST) + 1)
        end = _best_end(pieces, begin, left / count)
        yield pieces[begin:end]
        left -= sum(piece.width + piece.spaced for piece in pieces[begin:end])
        begin = end


def _best_end(pieces: _Pieces, begin: int, wanted: float) -> int:
    """The end of the cue from ``begin`` on: the sentence's if it fits, else the best one for the ``wanted`` width."""
    best, cost, width = begin + 1, float("inf"), 0
    for end in _fitting(pieces, begin):
        piece = pieces[end - 1]
        width += piece.width + piece.spaced
        if end == len(pieces):
            return end
        distance = abs(width - wanted) / wanted - _FOR_A_PHRASE * _ends_phrase(piece, pieces[end])
        if distance <= cost:
            best, cost = end, distance
    return best


def _fitting(pieces: _Pieces, begin: int) -> Iterator[int]:
    """Each end, ascending, up to which the pieces from ``begin`` on fit a cue; at least one."""
    lines, line = 1, 0
    for end in range(begin + 1, len(pieces) + 1):
        piece = pieces[end - 1]
        line += piece.width + (piece.spaced and line > 0)
        if line > _COLUMNS:
            lines, line = lines + 1, piece.width
        if end > begin + 1 and (lines > _LINES or piece.end - pieces[begin].start > _LONGEST):
            return
        yield end


def _ends_phrase(piece: _Piece, following: _Piece) -> bool:
    return piece.text.endswith(_PHRASE_ENDS) or following.start - piece.end >= _BREATH


def _joined(groups: Sequence[_Pieces]) -> list[_Pieces]:
    """Join a cue that is shown for too short a time with a neighbour, if both fit one."""
    joined: list[_Pieces] = []
    for index, group in enumerate(groups):
        following = groups[index + 1][0].start if index + 1 < len(groups) else float("inf")
        if joined and (_is_short(joined[-1], group[0].start) or _is_short(group, following)):
            both = [*joined[-1], *group]
            near = group[0].start - joined[-1][-1].end <= _JOINED_PAUSE
            if near and max(_fitting(both, 0)) == len(both):
                joined[-1] = both
                continue
        joined.append(group)
    return joined


def _is_short(group: _Pieces, following: float) -> bool:
    return following - group[0].start < _SHORTEST


def _in_lines(pieces: _Pieces) -> str:
    """The text, in two lines of similar length if it is too wide for one."""
    whole = _width_of(pieces)
    if whole <= _COLUMNS or len(pieces) == 1:
        return _text(pieces)
    best, cost, first = 1, float("inf"), -int(pieces[0].spaced)
    for end in range(1, len(pieces)):
        first += pieces[end - 1].width + pieces[end - 1].spaced
        second = whole - first - pieces[end].spaced
        distance = abs(first - second) / _COLUMNS - _FOR_A_PHRASE * _ends_phrase(pieces[end - 1], pieces[end])
        if max(first, second) <= _COLUMNS and distance < cost:
            best, cost = end, distance
    return f"{_text(pieces[:best])}\n{_text(pieces[best:])}"


def _text(pieces: _Pieces) -> str:
    return "".join(f" {piece.text}" if piece.spaced else piece.text for piece in pieces).strip()


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _time(seconds: float, point: str) -> str:
    whole, thousandths = divmod(round(seconds * 1000), 1000)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}{point}{thousandths:03}"
