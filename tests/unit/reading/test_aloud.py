import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend.reading.aloud import split
from frontend.rings import reader

# A line that is long enough to have been wrapped.
_WRAPPED = "The quick brown fox that everybody knows jumps over the"


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
        ("de", "Das war der 3. Dann kam er.", ["Das war der 3.", "Dann kam er."]),
        ("fr", "Rien d'aujourd'hui, aujourd'hui.", ["Rien d'aujourdhui, aujourd'hui."]),
        ("de", "Es waren 12. (Alle kamen.)", ["Es waren 12.", "(Alle kamen.)"]),
        ("en", "東京は大きい。大阪も！そう？", ["東京は大きい。", "大阪も！", "そう？"]),
        ("en", "No end\n\nnew paragraph", ["No end", "new paragraph"]),
        ("en", f"{_WRAPPED}\nlazy dog, who sleeps.", [f"{_WRAPPED} lazy dog, who sleeps."]),
        ("en", "x" * 50, ["x" * 50]),
        ("en", "word " * 900 + "end.", ["word " * 900 + "end."]),
        ("en", "Eggs\nmilk\r\nBread", ["Eggs", "milk", "Bread"]),
        ("en", "Wait !!! What??? Really?!", ["Wait !", "What?", "Really?"]),
        ("en", '!!! ... ??? "..."', []),
        ("en", "  \n ", []),
        ("fr", "e{", ["e{"]),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(language: str, text: str, expected: list[str]) -> None:
    assert split(text, language) == expected


@pytest.mark.parametrize(("length", "sentences"), [(50, 1), (49, 2)])
def test_a_line_is_long_enough_to_have_been_broken_from_50_characters_on(length: int, sentences: int) -> None:
    assert len(split("word " * 9 + "x" * (length - 45) + "\nlazy dog", "en")) == sentences


def test_the_reader_of_this_ring_is_the_one_that_a_process_finds() -> None:
    assert pickle.loads(pickle.dumps(reader())).split("It is 3 km.", "en") == split("It is 3 km.", "en")
    assert reader().is_abbreviation("Dr.", "en")


_PIECES = [
    "a. ",
    "w.",
    "Dr. ",
    "3. Mai ",
    "!",
    "? ",
    "1'000",
    "U.S. The ",
    '."',
    "z. B. ",
    "*",
    "**a ",
    "![[",
    "`",
    "<",
    "> ",
    "|a",
    "- a\n",
    "1/2 ",
    "5 - ",
    "5–",
    "12:30-",
    "$5-",
    "1 000 ",
    "044 ",
    "+41 ",
    "24.12.",
    "2024-12-",
    "XIV. ",
    "1° ",
    "5 km ",
    "a@",
    "a.com ",
    "Mo–",
    "Dec 5 ",
    "in 1999 ",
    "2½ ",
    "…",
    "aa.Bb",
    "L'UE ",
    "3. und ",
    "5 ft. ",
    "a = ",
    "=",
    "7 a.m. ",
    "20.- ",
    "—",
    "9",
    "J. R. ",
    " ",
    "\n",
]


@pytest.mark.parametrize("text", _PIECES)
@pytest.mark.parametrize("language", ["en", "de", "fr", "it"])
def test_the_longest_text_takes_a_part_of_a_second(language: str, text: str) -> None:
    # Other threads of this process may compute too.
    started = time.thread_time()
    split((text * 5_000)[:5_000], language)
    assert time.thread_time() - started < 0.4


@given(text=st.text(st.sampled_from("aAbIVX059.,:;!?-–/*_#$€°½'\"()<>=|`~@ \n") | st.characters(), max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    for language in ("en", "de", "fr", "it", "es"):
        assert all(sentence.strip() for sentence in split(text, language))
