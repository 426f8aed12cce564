"""How a text is split without a reader of a ring."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend.text.sentences import Reader, harmless, split


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three\nfour", ["One.", "Two!", "Three four"]),
        ("It is 3 km, 3.50 CHF.", ["It is 3 km, 3.50 CHF."]),
        ('He said "Go!" Then he went.', ['He said "Go!', "Then he went."]),
        ("東京は大きい。大阪も！", ["東京は大きい。", "大阪も！"]),
        ("No end\n \nnew  paragraph", ["No end", "new paragraph"]),
        ("Cafe\u0301\0 o\ufb03ce!!", ["Café office!"]),
        ("!!! ... ??? ", []),
    ],
)
def test_a_text_is_read_as_it_stands(text: str, expected: list[str]) -> None:
    assert split(text, "en") == expected


def test_without_a_reader_no_abbreviation_is_known() -> None:
    assert not Reader().is_abbreviation("Dr.", "en")


@pytest.mark.parametrize(("letters", "dots"), [(20, 20), (21, 0)])
def test_more_than_20_dotted_letters_lose_their_dots(letters: int, dots: int) -> None:
    (sentence,) = harmless(["x. " * letters + "end"])
    assert (sentence.count("x"), sentence.count(".")) == (letters, dots)


def test_a_word_of_any_length_is_cut() -> None:
    (sentence,) = harmless(["x" * 5_000])
    assert max(map(len, sentence.split())) <= 50
    assert sentence.replace(" ", "") == "x" * 5_000


@given(st.text(st.sampled_from("aX05.!?…。\"' \n") | st.characters(), max_size=60))
def test_any_text_can_be_split(text: str) -> None:
    assert all(sentence.strip() for sentence in split(text, "en"))


@pytest.mark.parametrize("piece", ["a. ", '."', ".)))", "\n ", "\n\r", "…", "x.", "w"])
def test_the_longest_text_is_split_in_a_part_of_a_second(piece: str) -> None:
    started = time.thread_time()
    split((piece * 5_000)[:5_000], "en")
    assert time.thread_time() - started < 0.2
