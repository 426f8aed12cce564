"""Cues of a transcript: where they are cut, and how long they are shown."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend.extensions.subtitles.rendering import cues, srt, vtt
from frontend.operations.transcription.answers import Word
from frontend.operations.transcription.protocol import Transcription
from frontend.text.sentences import Reader

COLUMNS, LONGEST = 42, 7.0
READER = Reader()


def _said(*said: str | float, seconds: float = 0.3, language: str = "en") -> Transcription:
    """Words of ``seconds`` each. A number is a pause."""
    clock, words = 0.0, []
    for each in said:
        if isinstance(each, float):
            clock = round(clock + each, 2)
        else:
            words.append(Word(clock, round(clock + seconds, 2), each, 0.5))
            clock = words[-1].end
    return Transcription("", language, clock + 2, (), words)


def _spoken(text: str, language: str = "en") -> Transcription:
    return _said(*(f" {word}" for word in text.split()), language=language)


def _texts(transcription: Transcription) -> list[str]:
    return [text for _, _, text in cues(transcription, READER)]


def test_srt_numbers_its_cues() -> None:
    said = _said(" Hello", " there.", 2.0, " Bye")
    assert (
        srt(said, READER)
        == "1\n00:00:00,000 --> 00:00:01,000\nHello there.\n\n2\n00:00:02,600 --> 00:00:03,600\nBye\n\n"
    )


def test_webvtt_begins_with_its_name_and_escapes_markup() -> None:
    assert vtt(_said(" <b>", " &"), READER) == "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\n&lt;b&gt; &amp;\n"


def test_without_words_there_are_no_cues() -> None:
    assert (srt(_said(), READER), vtt(_said(), READER)) == ("", "WEBVTT\n")


def test_an_hour_has_two_digits() -> None:
    assert "01:01:01,500 --> 01:01:02,500" in srt(_said(3661.5, " late"), READER)


def test_a_cue_ends_with_its_sentence() -> None:
    said = _said(" Come", " with", " me", " now.", 0.3, " We", " are", " late", " again.")
    assert _texts(said) == ["Come with me now.", "We are late again."]


def test_short_sentences_share_a_cue() -> None:
    assert _texts(_said(" Yes.", 0.3, " No.")) == ["Yes. No."]


def test_sentences_with_a_long_pause_between_them_share_none() -> None:
    assert _texts(_said(" Yes.", 1.1, " No.")) == ["Yes.", "No."]


def test_a_long_sentence_is_cut_after_a_comma() -> None:
    text = "when the train arrived at the small station near the border, nobody was waiting there but an old dog"
    first, second = _texts(_spoken(text))
    assert (first.endswith("border,"), second.startswith("nobody")) == (True, True)


def test_a_long_sentence_is_cut_at_a_pause() -> None:
    before, after = ([f" word{number}" for number in range(9)] for _ in range(2))
    first, second = _texts(_said(*before, 0.4, *after, seconds=0.2))
    assert first.split() == second.split() == [word.strip() for word in before]


def test_no_word_of_a_long_sentence_is_left_alone() -> None:
    assert min(len(text.split()) for text in _texts(_spoken("every word is as long as this " * 9))) > 3


def test_two_lines_are_of_similar_length() -> None:
    (text,) = _texts(_spoken("we have been waiting for this for a long time"))
    first, second = text.split("\n")
    assert abs(len(first) - len(second)) < 8


@pytest.mark.parametrize(
    ("language", "sentence"),
    [("zh", "今天天气很好我们一起去公园"), ("ja", "これは本ですとても長い文です"), ("th", "วันนี้อากาศดีมากเราไปเดินเล่น")],
)
def test_languages_without_spaces_are_cut_between_characters(language: str, sentence: str) -> None:
    texts = _texts(_said(*sentence * 4, seconds=0.1, language=language))
    assert len(texts) > 1
    assert "".join(texts).replace("\n", "") == sentence * 4


def test_marks_without_a_character_make_no_endless_line() -> None:
    marks = [Word(place / 10, place / 10 + 0.1, "\u0e34", 0.5) for place in range(500)]
    lines = srt(Transcription("", "th", 50.0, (), marks), READER).splitlines()
    assert max(map(len, lines)) <= 42


def test_wide_characters_take_two_columns() -> None:
    lines = [line for text in _texts(_said(*"今天天气很好" * 9, language="zh")) for line in text.split("\n")]
    assert max(len(line) for line in lines) <= COLUMNS / 2


def test_a_cue_stays_until_it_can_be_read() -> None:
    """Said in a second, which is too fast, and with time before the next one."""
    said = _said(" you", " can", " read", " this", " if", " it", " stays", " here", 5.0, " next", seconds=0.1)
    start, end, text = next(cues(said, READER))
    assert end - start == pytest.approx(len(text.replace("\n", " ")) / 17)


_TEXT = st.text("ab ,.?今\u0e31&<\n", min_size=0, max_size=60).map(lambda text: f" {text}")
_WORDS = st.lists(st.tuples(_TEXT, st.floats(-0.5, 3.0), st.floats(0.0, 9.0)), max_size=40)


@given(_WORDS)
def test_cues_are_short_and_never_overlap(said: list[tuple[str, float, float]]) -> None:
    clock, words = 1.0, []
    for text, pause, seconds in said:
        start = round(max(0.0, clock + pause), 2)
        words.append(Word(start, round(start + seconds, 2), text, 0.5))
        clock = words[-1].end
    found = list(cues(Transcription("", "en", clock, (), words), READER))
    assert all(0 < end - start <= LONGEST + 1e-6 for start, end, _ in found)
    assert all(first[1] <= second[0] for first, second in pairwise(found))
    lines = [text.split("\n") for _, _, text in found]
    assert all(len(each) <= 2 and all(0 < len(line) <= COLUMNS for line in each) for each in lines)
    assert "".join("".join(sum(lines, [])).split()) == "".join("".join(text for text, _, _ in said).split())
