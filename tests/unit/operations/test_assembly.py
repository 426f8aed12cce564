"""Words of windows become one transcript."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from frontend.audio.prepare import Prepared, SpokenWindow
from frontend.operations.transcription.answers import Segment, Word
from frontend.operations.transcription.assembly import assemble
from frontend.operations.transcription.protocol import Transcription, TranscriptionRequest
from frontend.processes.shared_memory import SharedBytes
from frontend.text.sentences import Reader
from frontend.tritons.triton import Arrays

# It knows these abbreviations.
READER = Reader(is_abbreviation=lambda word, language: word.strip() in ("Dr.", "W."))
WORD_SECONDS = 0.4
# The first is eight seconds of speech, five seconds into the file; the second begins twenty seconds into it.
WINDOWS = [SpokenWindow(((0.0, 5.0),), 0, 128_000, 8.0), SpokenWindow(((0.0, 20.0),), 128_000, 256_000, 8.0)]


@pytest.fixture
def file() -> Iterator[SharedBytes]:
    file = SharedBytes(1)
    yield file
    file.close()


@pytest.fixture
def asked(file: SharedBytes) -> TranscriptionRequest:
    return TranscriptionRequest(file, "stt-1", words=True)


def _answer(*said: str | float, language: str = "en") -> Arrays:
    """The answer for a window with words of 0.4 s each. A number is a pause in seconds."""
    clock, starts, words = 0.0, [], []
    for each in said:
        if isinstance(each, str):
            starts.append(clock)
            words.append(each.encode())
            clock += WORD_SECONDS
        else:
            clock += each
    start = np.array([starts], np.float32)
    return {
        "language": np.array([[language.encode()]], np.object_),
        "avg_logprob": np.array([[-0.25]], np.float32),
        "no_speech_prob": np.array([[0.125]], np.float32),
        "word_start": start,
        "word_end": start + np.float32(WORD_SECONDS),
        "word_text": np.array([words], np.object_).reshape(1, -1),
        "word_probability": np.full_like(start, 0.5),
    }


def _assembled(asked: TranscriptionRequest, *answers: Arrays) -> Transcription:
    return assemble(Prepared(30.0, WINDOWS[: len(answers)]), answers, asked, READER)


def _segments(asked: TranscriptionRequest, *said: str | float) -> list[str]:
    return [segment.text for segment in _assembled(asked, _answer(*said)).segments]


@pytest.mark.parametrize("first", [" One?", " One!", " One…", ' "One?"', " (One!)", " One。"])
def test_a_segment_ends_with_a_sentence(asked: TranscriptionRequest, first: str) -> None:
    assert _segments(asked, first, " Two", " three.") == [first, " Two three."]


@pytest.mark.parametrize("first", [" One.", ' One."', " One.”", " (One.)", " One.»"])
def test_a_segment_ends_with_a_full_stop_and_a_breath(asked: TranscriptionRequest, first: str) -> None:
    assert _segments(asked, first, 0.1, " Two") == [first, " Two"]


@pytest.mark.parametrize("pause", [0.0, 0.08])
def test_a_full_stop_without_a_breath_behind_it_ends_no_segment(asked: TranscriptionRequest, pause: float) -> None:
    assert _segments(asked, " Ask", " Xyz.", pause, " Smith.") == [" Ask Xyz. Smith."]


@pytest.mark.parametrize("pause", [0.1, 0.5])
def test_a_known_abbreviation_ends_no_segment(asked: TranscriptionRequest, pause: float) -> None:
    assert _segments(asked, " Ask", " Dr.", pause, " Smith.") == [" Ask Dr. Smith."]


@pytest.mark.parametrize("last", [" one", " one,", " one:"])
@pytest.mark.parametrize(("pause", "segments"), [(0.58, 1), (0.6, 2)])
def test_a_segment_ends_before_a_long_pause(
    asked: TranscriptionRequest, last: str, pause: float, segments: int
) -> None:
    assert len(_segments(asked, last, pause, " two")) == segments


@pytest.mark.parametrize(("word", "pause"), [(" One.", 0.1), (" One", 0.6)])
def test_a_pause_of_exactly_the_limit_ends_a_segment(asked: TranscriptionRequest, word: str, pause: float) -> None:
    """Times are rounded to two digits, because 0.3 - 0.2 is less than 0.1 in floating point."""
    frames = [frame / 50 for frame in range(300)]
    assert {len(_segments(asked, before, word, pause, " two")) for before in frames} == {2}


def test_a_segment_lasts_from_its_first_word_to_its_last(asked: TranscriptionRequest) -> None:
    (first, second) = _assembled(asked, _answer(0.2, " One", " two.", 1.0, " Three")).segments
    assert (first.start, first.end) == (5.2, 6.0)
    assert (second.start, second.end) == (7.0, 7.4)


def test_segments_of_all_windows_count_on_and_have_times_of_the_file(asked: TranscriptionRequest) -> None:
    assert _assembled(asked, _answer(" One.", 0.6, " Two."), _answer(" Three.")).segments == [
        Segment(0, 5.0, 5.4, " One.", -0.25, 0.125),
        Segment(1, 6.0, 6.4, " Two.", -0.25, 0.125),
        Segment(2, 20.0, 20.4, " Three.", -0.25, 0.125),
    ]


def test_a_segment_ends_with_its_window(asked: TranscriptionRequest) -> None:
    segments = _assembled(asked, _answer(" One", " two"), _answer(" three")).segments
    assert [segment.text for segment in segments] == [" One two", " three"]


def test_each_segment_has_the_probabilities_of_its_own_window(asked: TranscriptionRequest) -> None:
    unsure = {"avg_logprob": np.array([[-0.75]], np.float32), "no_speech_prob": np.array([[0.5]], np.float32)}
    segments = _assembled(asked, _answer(" One.", 1.0, " Two."), {**_answer(" Three."), **unsure}).segments
    sure = [(segment.avg_logprob, segment.no_speech_prob) for segment in segments]
    assert sure == [(-0.25, 0.125), (-0.25, 0.125), (-0.75, 0.5)]


def test_words_of_all_windows_have_times_of_the_file(asked: TranscriptionRequest) -> None:
    assert _assembled(asked, _answer(0.5, " One", " two"), _answer(" three")).words == [
        Word(5.5, 5.9, " One", 0.5),
        Word(5.9, 6.3, " two", 0.5),
        Word(20.0, 20.4, " three", 0.5),
    ]


def test_times_have_two_digits_and_probabilities_four(asked: TranscriptionRequest) -> None:
    answer = _answer(" a")
    shifted = {name: array + np.float32(0.123456) for name, array in answer.items() if array.dtype != np.object_}
    put_together = _assembled(asked, {**answer, **shifted})
    assert put_together.segments == [Segment(0, 5.12, 5.52, " a", -0.1265, 0.2485)]
    assert put_together.words == [Word(5.12, 5.52, " a", 0.6235)]


def test_words_are_only_returned_on_request(file: SharedBytes) -> None:
    answered = _assembled(TranscriptionRequest(file, "stt-1"), _answer(" One", " two"))
    assert (answered.words, answered.text) == (None, "One two")


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        ((" One", " two"), (" three",), "One two three"),
        ((" One",), ("two", " three"), "One two three"),
        (("One",), (" two",), "One two"),
        ((), ("One",), "One"),
        ((), (" One ",), "One"),
        ((" One",), (), "One"),
    ],
)
def test_texts_of_windows_are_one_space_apart(
    asked: TranscriptionRequest, first: tuple[str, ...], second: tuple[str, ...], whole: str
) -> None:
    assert _assembled(asked, _answer(*first), _answer(*second)).text == whole


def test_the_space_between_windows_belongs_to_the_next_word(asked: TranscriptionRequest) -> None:
    answered = _assembled(asked, _answer(" One"), _answer("two"))
    assert answered.words is not None
    assert (answered.words[1].word, answered.segments[1].text) == (" two", " two")


@pytest.mark.parametrize(
    ("language", "first", "second", "whole"),
    [
        ("zh", ("你好", "吗?"), ("很", "好。"), "你好吗?很好。"),
        ("ja", ("これは", "本"), ("です。",), "これは本です。"),
        ("th", ("สวัสดี",), ("ครับ",), "สวัสดีครับ"),
    ],
)
def test_unspaced_languages_have_no_space_between_windows(
    asked: TranscriptionRequest, language: str, first: tuple[str, ...], second: tuple[str, ...], whole: str
) -> None:
    answers = [_answer(*words, language=language) for words in (first, second)]
    assert _assembled(asked, *answers).text == whole


@pytest.mark.parametrize(
    ("languages", "whole"), [(("zh", "en"), "你好 hello"), (("en", "zh"), "hello你好")], ids=["then English", "before"]
)
def test_the_space_depends_on_the_language_of_the_next_window(
    asked: TranscriptionRequest, languages: tuple[str, str], whole: str
) -> None:
    words = {"zh": "你好", "en": "hello"}
    assert _assembled(asked, *(_answer(words[code], language=code) for code in languages)).text == whole


def test_a_text_of_no_words_has_neither_segments_nor_words(asked: TranscriptionRequest) -> None:
    answered = _assembled(asked, _answer(language="de"), _answer(language="de"))
    assert (answered.text, answered.segments, answered.words, answered.language) == ("", [], [], "")


def test_half_a_character_does_not_fail_the_answer(asked: TranscriptionRequest) -> None:
    answer = {**_answer(" a"), "word_text": np.array([[b" a\xc3"]], np.object_)}
    assert _assembled(asked, answer).text == "a\ufffd"


def test_a_word_that_ends_before_it_starts_does_not_fail_the_answer(asked: TranscriptionRequest) -> None:
    """Also if a pause was removed in between."""
    answer = _answer(2.5, " one")
    answer["word_end"] -= np.float32(2)
    window = SpokenWindow(((0.0, 5.0), (2.0, 20.0)), 0, 128_000, 8.0)
    assert assemble(Prepared(30.0, [window]), [answer], asked, READER).text == "one"


@pytest.mark.parametrize(("seconds", "language"), [((2, 1), "de"), ((1, 2), "it"), ((2, 1, 2), "it")])
def test_the_language_is_that_of_most_of_the_speech(
    asked: TranscriptionRequest, seconds: tuple[int, ...], language: str
) -> None:
    windows = [
        SpokenWindow(((0.0, 10.0 * place),), 0, 16_000 * length, float(length)) for place, length in enumerate(seconds)
    ]
    answers = [_answer(" a", language=code) for code in ("de", "it", "it")[: len(windows)]]
    assert assemble(Prepared(30.0, windows), answers, asked, READER).language == language


def test_a_language_has_its_iso_code(asked: TranscriptionRequest) -> None:
    assert _assembled(asked, _answer(" a", language="jw")).language == "jv"


def test_a_language_that_was_given_is_answered(file: SharedBytes) -> None:
    assert _assembled(TranscriptionRequest(file, "stt-1", language="fr"), _answer(" a")).language == "fr"


def test_the_duration_is_that_of_the_file(asked: TranscriptionRequest) -> None:
    assert _assembled(asked, _answer(" One")).duration == 30.0


@pytest.mark.parametrize(
    ("spoken", "no_speech_prob", "text"),
    [(0.4, 0.7, ""), (0.6, 0.7, "you"), (0.4, 0.55, "you")],
    ids=["hardly any speech, and the model agrees", "some speech", "a short word of a person"],
)
def test_words_of_music_are_none(asked: TranscriptionRequest, spoken: float, no_speech_prob: float, text: str) -> None:
    answer = _answer(" you") | {"no_speech_prob": np.array([[no_speech_prob]], np.float32)}
    transcription = assemble(Prepared(30.0, [replace(WINDOWS[0], spoken=spoken)]), [answer], asked, READER)
    assert (transcription.text, transcription.language) == (text, "en" if text else "")


def test_no_word_takes_no_time(asked: TranscriptionRequest) -> None:
    answer = _answer(" one", " two", " three")
    answer |= {
        "word_start": np.array([[0.0, 0.4, 0.4]], np.float32),
        "word_end": np.array([[0.4, 0.4, 0.8]], np.float32),
    }
    words = _assembled(asked, answer).words or []
    assert [word.end > word.start for word in words] == [True] * 3
    assert [one.end <= other.start for one, other in pairwise(words)] == [True] * 2
