"""Recordings of people: what is said of them is so."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from client.recordings import SAMPLE_RATE, Recorded, recordings, words

ALL = recordings()


def _name(each: Recorded) -> str:
    return f"{each.language}/{each.name}"


@pytest.mark.parametrize("each", ALL, ids=_name)
def test_a_recording_is_as_long_as_is_said(each: Recorded) -> None:
    samples = each.samples()
    assert samples.dtype == np.float32
    assert len(samples) / SAMPLE_RATE == pytest.approx(each.seconds, abs=0.01)
    assert 0.1 < np.abs(samples).max() <= 1


@pytest.mark.parametrize("each", ALL, ids=_name)
def test_a_transcript_is_of_ordinary_words(each: Recorded) -> None:
    assert len(words(each.text)) >= 5
    assert not any(letter.isdigit() or letter in "()[]{}<>*" for letter in each.text)


def test_there_are_eight_of_each_language_and_no_file_besides() -> None:
    assert Counter(each.language for each in ALL) == dict.fromkeys(("en", "es", "fr", "it", "ru"), 8)
    assert {each.path for each in ALL} == set(Path(ALL[0].path).parents[1].rglob("*.g722"))


def test_some_of_some_languages_are_had() -> None:
    assert [each.language for each in recordings("it", "en", most=2)] == ["it", "it", "en", "en"]


def test_all_of_them_are_no_more_than_3_mb() -> None:
    assert sum(each.path.stat().st_size for each in ALL) < 3_000_000
