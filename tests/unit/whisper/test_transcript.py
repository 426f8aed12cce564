import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest

FIRST, END = 1000, 900


@pytest.fixture(scope="module")
def transcript(module: ModuleType) -> Any:
    return importlib.import_module("transcript")


def _stamp(seconds: float) -> int:
    return FIRST + round(seconds / 0.02)


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([_stamp(0), 1, 2, _stamp(1)], [(0, 1, [1, 2])]),
        ([_stamp(0.5), 1, _stamp(1), _stamp(1.2), 2, _stamp(2)], [(0.5, 1, [1]), (1.2, 2, [2])]),
        ([_stamp(0), 1, _stamp(1), 2, _stamp(2)], [(0, 1, [1]), (1, 2, [2])]),
        ([_stamp(0), 1, 2], [(0, 5, [1, 2])]),
        ([_stamp(0), END], []),
        ([1, 2, END], [(0, 5, [1, 2])]),
        ([_stamp(3), 1, _stamp(2)], [(3, 3, [1])]),
        ([_stamp(1), 1, _stamp(7)], [(1, 5, [1])]),
        ([], []),
    ],
)
def test_tokens_are_cut_at_their_timestamps(transcript: Any, tokens: list[int], expected: list[Any]) -> None:
    segments = transcript.split_segments(tokens, FIRST, END, 5.0)
    assert [(round(s.start, 2), round(s.end, 2), s.tokens) for s in segments] == expected


def test_a_loop_has_a_high_compression_ratio(transcript: Any) -> None:
    assert transcript.compression_ratio("and then " * 40) > 2.4
    assert transcript.compression_ratio("Good morning Anna, can you buy some bread today?") < 2.4


@pytest.mark.parametrize(
    ("language", "pieces", "expected"),
    [
        ("en", [" Good", " mor", "ning", ",", " Anna", "."], [[0], [1, 2, 3], [4, 5]]),
        ("zh", ["你", "好", "。"], [[0], [1, 2]]),
        ("en", ["", " a"], [[0], [1]]),
    ],
)
def test_pieces_make_words_with_their_punctuation(
    transcript: Any, language: str, pieces: list[str], expected: list[list[int]]
) -> None:
    assert transcript.group_words(pieces, language) == expected


def test_a_character_of_two_tokens_is_given_to_the_second(transcript: Any) -> None:
    data = " ö!".encode()
    assert transcript.decode_pieces(data, lambda ids: bytes(ids).decode("utf-8", "replace")) == [" ", "", "ö", "!"]


def test_token_times_are_the_first_frame_of_each_token(transcript: Any) -> None:
    times = transcript.token_times([(0, 5), (0, 6), (1, 10), (2, 20)], 2)
    assert times.tolist() == pytest.approx([0.1, 0.2, 0.4])


@pytest.mark.parametrize(
    ("alignments", "tokens", "expected"),
    [
        ([(0, 5), (2, 20), (3, 30)], 3, [0.1, 0.4, 0.4, 0.6]),
        ([(1, 10), (2, 20)], 2, [0.2, 0.2, 0.4]),
        ([(0, 5), (1, 10), (1, 12)], 2, [0.1, 0.2, 0.24]),
        ([(0, 5), (3, 40)], 1, [0.1, 0.8]),
        ([], 2, [0, 0, 0]),
    ],
    ids=["in the middle", "first", "the end", "the end, with a token too many", "all"],
)
def test_a_token_without_a_frame_starts_where_the_next_one_does(
    transcript: Any, alignments: list[tuple[int, int]], tokens: int, expected: list[float]
) -> None:
    assert transcript.token_times(alignments, tokens).tolist() == pytest.approx(expected)


def test_a_word_lasts_from_its_first_token_to_the_one_behind_its_last(transcript: Any) -> None:
    segments = [transcript.Segment(0.0, 2.0, [1, 2, 3]), transcript.Segment(2.0, 4.0, [4, 5])]
    times = np.array([0.2, 0.5, 0.9, 2.1, 2.6, 3.0])
    words = transcript.place_words(segments, [[" mor", "ning", " all"], [" good", " day"]], times, [1.0] * 5, "en")
    assert [(word.text, word.start, word.end, word.segment) for word in words] == [
        (" morning", 0.2, 0.9, 0),
        (" all", 0.9, 2.0, 0),
        (" good", 2.1, 2.6, 1),
        (" day", 2.6, 3.0, 1),
    ]


def test_a_word_is_as_probable_as_its_tokens_are_on_average(transcript: Any) -> None:
    segment = transcript.Segment(0.0, 2.0, [1, 2, 3])
    words = transcript.place_words([segment], [[" mor", "ning", " all"]], np.arange(4.0), [0.9, 0.5, 0.2], "en")
    assert [word.probability for word in words] == pytest.approx([0.7, 0.2])


def test_words_stay_inside_of_their_segment_and_in_order(transcript: Any) -> None:
    segment = transcript.Segment(1.0, 2.0, [1, 2, 3])
    times = np.array([0.5, 1.6, 1.4, 9.0])
    words = transcript.place_words([segment], [[" a", " b", " c"]], times, [0.5, 0.5, 0.5], "en")
    clocks = [time for word in words for time in (word.start, word.end)]
    assert clocks == sorted(clocks)
    assert clocks[0] >= 1.0
    assert clocks[-1] <= 2.0
