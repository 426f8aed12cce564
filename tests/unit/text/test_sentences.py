import time

import pytest

from frontend.text.sentences import split


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("en", "It costs 3.50 today.", ["It costs 3.50 today."]),
        ("en", "J. Smith met DR. Jones. Then A. B. left.", ["J. Smith met doctor Jones.", "Then A. B. left."]),
        ("en", "The U.S. Army left the U.S. Then it rained.", ["The U.S. Army left the U.S.", "Then it rained."]),
        ("en", "J.R.R. Tolkien had plan B. It worked.", ["J.R.R. Tolkien had plan B.", "It worked."]),
        ("en", 'He said "Go." Then he went.', ['He said "Go."', "Then he went."]),
        ("en", 'He said "Go!" and went.', ['He said "Go!" and went.']),
        ("en", 'He said "Go!" Then he went.', ['He said "Go!"', "Then he went."]),
        ("en", "Call the dr! Then wait.", ["Call the dr!", "Then wait."]),
        ("en", "It was the 3. Then it rained.", ["It was the 3.", "Then it rained."]),
        ("de", "Das war 1999. Dann kam er.", ["Das war 1999.", "Dann kam er."]),
        ("de", "Es waren 12. (Alle kamen.)", ["Es waren 12.", "(Alle kamen.)"]),
        ("en", "東京は大きい。大阪も！そう？", ["東京は大きい。", "大阪も！", "そう？"]),
        ("en", "No end\n\nnew paragraph", ["No end", "new paragraph"]),
        ("en", "Eggs\nmilk\r\nBread", ["Eggs", "milk", "Bread"]),
        ("en", "Wait !!! What??? Really?!", ["Wait !", "What?", "Really?"]),
        ("en", '!!! ... ??? "..."', []),
        ("en", "  \n ", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(language: str, text: str, expected: list[str]) -> None:
    assert split(text, language) == expected


def test_a_line_that_was_broken_at_some_width_goes_on_in_the_next_one() -> None:
    text = "The quick brown fox that everybody knows jumps over the\nlazy dog, who sleeps."
    assert split(text, "en") == [text.replace("\n", " ")]


@pytest.mark.parametrize(("length", "sentences"), [(50, 1), (49, 2)])
def test_a_line_is_long_enough_to_have_been_broken_from_50_characters_on(length: int, sentences: int) -> None:
    assert len(split("word " * 9 + "x" * (length - 45) + "\nlazy dog", "en")) == sentences


@pytest.mark.parametrize(("letters", "dots"), [(20, 20), (21, 0)])
def test_of_more_than_20_letters_with_dots_in_a_sentence_the_dots_are_left_away(letters: int, dots: int) -> None:
    (sentence,) = split("x. " * letters + "end", "en")
    assert (sentence.count("x"), sentence.count(".")) == (letters, dots)


def test_a_word_of_50_letters_stays_whole() -> None:
    assert split("x" * 50, "en") == ["x" * 50]


def test_a_sentence_of_any_length_is_one() -> None:
    text = "word " * 900 + "end."
    assert split(text, "en") == [text]


def test_a_word_of_any_length_is_cut() -> None:
    (sentence,) = split("x" * 5_000, "en")
    assert max(map(len, sentence.split())) <= 50
    assert sentence.replace(" ", "") == "x" * 5_000


@pytest.mark.parametrize(
    "text", ["a. ", "w.", "Dr. ", "3. Mai ", "!", "? ", " ", "\n", "1'000", "U.S. The ", '."', "z. B. "]
)
@pytest.mark.parametrize("language", ["en", "de", "fr", "it"])
def test_the_longest_text_takes_milliseconds(language: str, text: str) -> None:
    started = time.perf_counter()
    split((text * 5_000)[:5_000], language)
    assert time.perf_counter() - started < 0.2
