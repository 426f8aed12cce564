"""Joins the answers of a file's windows: words, segments, text and language."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from frontend.audio.prepare import Prepared, SpokenWindow
from frontend.catalogue.languages import iso_code
from frontend.operations.transcription.answers import Segment, Word
from frontend.operations.transcription.protocol import Transcription, TranscriptionRequest
from frontend.text.sentences import Reader
from frontend.tritons.triton import Arrays

WORDS = ("word_start", "word_end", "word_text", "word_probability")
# A segment ends at a sentence's end or before a pause of this many seconds.
_PAUSE = 0.6
_CLOSING = "\"'”’»)]"
_SENTENCE_ENDS = ("?", "!", "。", "？", "！", "…")
# Seconds. A speaker pauses for this time after a sentence, but not after most abbreviations.
_BREATH = 0.1
# A window with less detected speech, in seconds, and a higher probability of none has no words: for music and noise,
# Whisper invents likely ones, with 0.82 to 0.96. Of 73 single words of people, the highest probability was 0.56.
LITTLE_SPEECH, _NO_SPEECH = 0.5, 0.6
# Seconds: a frame of the model.
_SHORTEST_WORD = 0.02
# Languages written without spaces between words.
_UNSPACED = frozenset({"zh", "ja", "th", "lo", "my", "yue", "bo", "km"})


def is_invented(spoken: float, no_speech_prob: float) -> bool:
    """Whether the words of a window are none that somebody said; ``spoken`` seconds of it were detected as speech."""
    return spoken < LITTLE_SPEECH and no_speech_prob > _NO_SPEECH


def assemble(
    prepared: Prepared, answers: Sequence[Arrays], request: TranscriptionRequest, reader: Reader
) -> Transcription:
    """The transcript of a file."""
    assembly = Assembly(request, reader)
    for window, arrays in zip(prepared.windows, answers, strict=True):
        assembly.add(window, arrays)
    return assembly.finish(prepared.duration)


class Assembly:
    """The transcript of a file as far as its windows are added. Times count from the file's start, ids from 0."""

    def __init__(self, request: TranscriptionRequest, reader: Reader) -> None:
        self._request, self._reader = request, reader
        self._text = self._blanks = ""
        self._segments: list[Segment] = []
        self._words: list[Word] = []
        self._seconds: Counter[str] = Counter()

    def add(self, window: SpokenWindow, arrays: Arrays) -> str:
        """Add the answer to the next window. Return what it adds to the text, which may be nothing."""
        if is_invented(window.spoken, arrays["no_speech_prob"].item()):
            return ""
        spoken = _words(window, arrays)
        language = self._request.language_of_text or arrays["language"].item().decode()
        if spoken:
            self._seconds[language] += window.end - window.start
        if spoken and self._segments and language not in _UNSPACED and not spoken[0].word.startswith(" "):
            spoken[0] = replace(spoken[0], word=f" {spoken[0].word}")
        confidence = (round(arrays["avg_logprob"].item(), 4), round(arrays["no_speech_prob"].item(), 4))
        text = ""
        for group in sentences(spoken, language, self._reader):
            sentence = "".join(word.word for word in group)
            self._segments.append(Segment(len(self._segments), group[0].start, group[-1].end, sentence, *confidence))
            text += sentence
        self._words += spoken
        return self._append(text)

    def _append(self, text: str) -> str:
        """Append to the text, which has no blanks at its ends: blanks at the end so far wait for what follows."""
        text = self._blanks + text if self._text else text.lstrip()
        added = text.rstrip()
        self._blanks = text[len(added) :]
        self._text += added
        return added

    def finish(self, duration: float) -> Transcription:
        """The transcript of a file of ``duration`` seconds, after all its windows."""
        ((detected, _),) = self._seconds.most_common(1) or [("", 0)]
        return Transcription(
            text=self._text,
            language=self._request.language_of_text or iso_code(detected),
            duration=duration,
            segments=self._segments,
            words=self._words if self._request.words else None,
        )


def _words(window: SpokenWindow, arrays: Arrays) -> list[Word]:
    """Words with times rounded to 2 digits and probabilities to 4, as answers show them."""
    words: list[Word] = []
    for start, end, text, probability in zip(*(arrays[name].reshape(-1).tolist() for name in WORDS), strict=True):
        first, last = window.times_of_file(start, end)
        # Aligned words may take no time.
        first, last = max(round(first, 2), words[-1].end if words else 0.0), round(last, 2)
        if last - first < _SHORTEST_WORD:
            first = max(words[-1].end if words else 0.0, round(last - _SHORTEST_WORD, 2))
            last = max(last, round(first + _SHORTEST_WORD, 2))
        words.append(Word(first, last, text.decode("utf-8", "replace"), round(probability, 4)))
    return words


def sentences(words: Sequence[Word], language: str, reader: Reader) -> Iterator[Sequence[Word]]:
    """Cut words where a sentence ends, and before long pauses."""
    start = 0
    for end, (word, following) in enumerate(pairwise(words), 1):
        if _ends(word, following, language, reader):
            yield words[start:end]
            start = end
    if words:
        yield words[start:]


def _ends(word: Word, following: Word, language: str, reader: Reader) -> bool:
    """Whether a segment ends between two words."""
    # Times have 2 digits; rounding removes float noise.
    pause = round(following.start - word.end, 2)
    last = word.word.rstrip(_CLOSING)[-1:]
    if last == "." and reader.is_abbreviation(word.word, language):
        last = ""
    return pause >= (0 if last in _SENTENCE_ENDS else _BREATH if last == "." else _PAUSE)
