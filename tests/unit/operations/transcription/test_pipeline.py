"""How the answers of windows become one transcript."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from frontend.audio.prepare import Prepared, SpokenWindow
from frontend.dispatch.triton import Arrays
from frontend.operations.transcription.pipeline import WindowLength, assemble
from frontend.operations.transcription.protocol import Segment, TranscriptionRequest, Word
from frontend.processes.shared_memory import SharedBytes

# Two seconds of speech, five seconds into the file, then one second, twenty seconds into it.
WINDOWS = [SpokenWindow(((0.0, 5.0),), 0, 32_000), SpokenWindow(((0.0, 20.0),), 32_000, 48_000)]
PREPARED = Prepared(30.0, WINDOWS)


def _answer(texts: list[str], language: str = "en") -> Arrays:
    """A window of a segment of a second for each text, and each a word half a second into it."""
    starts = np.arange(len(texts), dtype=np.float32)[None]
    names = np.array([[text.encode() for text in texts]], np.object_).reshape(1, -1)
    return {
        "language": np.array([[language.encode()]], np.object_),
        "segment_start": starts,
        "segment_end": starts + np.float32(1),
        "segment_text": names,
        "segment_avg_logprob": np.full_like(starts, -0.25),
        "segment_no_speech_prob": np.full_like(starts, 0.125),
        "word_start": starts + np.float32(0.5),
        "word_end": starts + np.float32(0.75),
        "word_text": names,
        "word_probability": np.full_like(starts, 0.5),
    }


ANSWERS = [_answer([" One", " two"]), _answer([" three"])]


@pytest.fixture
def file() -> Iterator[SharedBytes]:
    file = SharedBytes(1)
    yield file
    file.close()


@pytest.fixture
def request_of_words(file: SharedBytes) -> TranscriptionRequest:
    return TranscriptionRequest(file, "stt-1", words=True)


def test_segments_of_all_windows_count_on_and_have_times_of_the_file(request_of_words: TranscriptionRequest) -> None:
    assert assemble(PREPARED, ANSWERS, request_of_words).segments == [
        Segment(0, 5.0, 6.0, " One", -0.25, 0.125),
        Segment(1, 6.0, 7.0, " two", -0.25, 0.125),
        Segment(2, 20.0, 21.0, " three", -0.25, 0.125),
    ]


def test_words_of_all_windows_have_times_of_the_file(request_of_words: TranscriptionRequest) -> None:
    assert assemble(PREPARED, ANSWERS, request_of_words).words == [
        Word(5.5, 5.75, " One", 0.5),
        Word(6.5, 6.75, " two", 0.5),
        Word(20.5, 20.75, " three", 0.5),
    ]


def test_times_have_two_digits_and_probabilities_four(request_of_words: TranscriptionRequest) -> None:
    answer = {
        name: array + np.float32(0.123456) for name, array in _answer([" a"]).items() if array.dtype != np.object_
    }
    put_together = assemble(PREPARED, [{**_answer([" a"]), **answer}, _answer([])], request_of_words)
    assert put_together.segments == [Segment(0, 5.12, 6.12, " a", -0.1265, 0.2485)]
    assert put_together.words == [Word(5.62, 5.87, " a", 0.6235)]


def test_words_that_nobody_asked_for_are_not_there(file: SharedBytes) -> None:
    assert assemble(PREPARED, ANSWERS, TranscriptionRequest(file, "stt-1")).words is None


@pytest.mark.parametrize(
    ("texts", "whole"),
    [
        (([" One", " two"], [" three"]), "One two three"),
        (([], [" three "]), "three"),
        (([" One"], []), "One"),
        (([], []), ""),
    ],
)
def test_the_text_is_the_segments_a_space_apart(request_of_words: TranscriptionRequest, texts: Any, whole: str) -> None:
    assert assemble(PREPARED, [_answer(some) for some in texts], request_of_words).text == whole


def test_half_a_character_does_not_cost_the_answer(request_of_words: TranscriptionRequest) -> None:
    answer = {**_answer([" a"]), "segment_text": np.array([[b" a\xc3"]], np.object_)}
    assert assemble(PREPARED, [answer, _answer([])], request_of_words).text == "a\ufffd"


@pytest.mark.parametrize(("seconds", "language"), [((2, 1), "de"), ((1, 2), "it"), ((2, 1, 2), "it")])
def test_the_language_is_that_of_most_of_the_speech(
    request_of_words: TranscriptionRequest, seconds: tuple[int, ...], language: str
) -> None:
    windows = [SpokenWindow(((0.0, 10.0 * place),), 0, 16_000 * length) for place, length in enumerate(seconds)]
    answers = [_answer([" a"], code) for code in ("de", "it", "it")[: len(windows)]]
    assert assemble(Prepared(30.0, windows), answers, request_of_words).language == language


def test_a_language_that_was_given_is_answered(file: SharedBytes) -> None:
    assert assemble(PREPARED, ANSWERS, TranscriptionRequest(file, "stt-1", language="fr")).language == "fr"


def test_the_duration_is_that_of_the_file(request_of_words: TranscriptionRequest) -> None:
    assert assemble(PREPARED, ANSWERS, request_of_words).duration == 30.0


def test_a_piece_of_work_is_one_window_at_least_and_sixteen_at_most() -> None:
    work = WindowLength(8.0, 2.0).work
    assert (work.least, work.most) == (8.0, 128.0)
