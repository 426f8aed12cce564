import time

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from piper.phoneme_ids import DEFAULT_PHONEME_ID_MAP, phonemes_to_ids

from frontend.text.alphabets import KokoroAlphabet, PiperAlphabet
from frontend.text.phonemes import MOST_IDS, Utterance, phonemize, phonemize_first, phonemize_others
from frontend.text.sentences import split

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


@pytest.mark.parametrize(("letters", "dots"), [(20, 20), (21, 0)])
def test_more_than_20_dotted_letters_lose_their_dots(letters: int, dots: int) -> None:
    (sentence,) = split("x. " * letters + "end", "en")
    assert (sentence.count("x"), sentence.count(".")) == (letters, dots)


def test_a_word_of_any_length_is_cut() -> None:
    (sentence,) = split("x" * 5_000, "en")
    assert max(map(len, sentence.split())) <= 50
    assert sentence.replace(" ", "") == "x" * 5_000


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


ENGLISH = PiperAlphabet("en", "en-us", DEFAULT_PHONEME_ID_MAP)
PAUSES = tuple(DEFAULT_PHONEME_ID_MAP[mark][0] for mark in ".!?")
COMMA, SPACE = DEFAULT_PHONEME_ID_MAP[","][0], DEFAULT_PHONEME_ID_MAP[" "][0]


def _said(text: str) -> list[list[int]]:
    return [part.ids for part in phonemize(text, ENGLISH)]


def test_ids_are_those_of_pipers_own_function() -> None:
    assert _said("Hello.") == [phonemes_to_ids(list("həlˈoʊ."))]


def test_a_pad_follows_the_start() -> None:
    assert _said("Hello.")[0][:2] == [1, 0]


@pytest.mark.parametrize("text", ["", "...", " - ", "?!"])
def test_text_without_sounds_gives_nothing(text: str) -> None:
    assert phonemize(text, ENGLISH) == []


def test_double_brackets_are_no_phoneme_codes() -> None:
    """espeak-ng's command line reads these as phonemes."""
    assert _said("[[h@l'oU]]") == _said("h@l'oU")


@pytest.mark.parametrize("sentence", ["J. K. Rowling wrote it.", "The U.S. Army came.", 'He said "Go!" and left.'])
def test_a_sentence_that_espeak_splits_stays_one(sentence: str) -> None:
    (utterance,) = phonemize(sentence, ENGLISH)
    assert [place for place, symbol in enumerate(utterance.ids) if symbol in PAUSES] == [len(utterance.ids) - 3]


def test_the_last_part_of_a_sentence_ends_it() -> None:
    parts = phonemize("bananas " * 60 + "apples. Hello.", ENGLISH)
    assert [part.ends for part in parts] == [*[False] * (len(parts) - 2), True, True]
    assert len(parts) > 3


def test_a_long_sentence_is_cut() -> None:
    lengths = [len(ids) for ids in _said("bananas " * 200)]
    assert max(lengths) <= MOST_IDS
    # Into parts of like lengths, none of which is a rest of a few words.
    assert min(lengths) > 0.8 * max(lengths)


def test_a_long_sentence_is_cut_between_words() -> None:
    word = _said("bananas")[0][2:-1]
    for ids in _said("bananas " * 200):
        assert ids[2 : 2 + len(word)] == word


def test_a_long_sentence_is_cut_at_a_comma_if_one_is_near() -> None:
    first, second = _said("bananas " * 15 + "apples, " + "bananas " * 10)
    assert first[-5:-1:2] == [COMMA, SPACE]
    assert second[2:-1] == _said("bananas " * 10)[0][2:-1]


def test_a_long_sentence_is_not_cut_at_a_comma_near_its_beginning() -> None:
    first, second = _said("apples, " + "bananas " * 25)
    assert min(len(first), len(second)) > 0.8 * max(len(first), len(second))


@pytest.mark.parametrize("word", ["banana" * 200, "9" * 400])
def test_a_word_without_an_end_is_cut(word: str) -> None:
    assert max(map(len, _said(word))) <= MOST_IDS


def test_an_unknown_symbol_is_left_out() -> None:
    small = PiperAlphabet("en", "en-us", {"^": [1], "_": [0], "$": [2], "h": [20]})
    assert phonemize("Hello.", small) == [Utterance([1, 0, 20, 0, 2])]


@pytest.mark.parametrize("letter", ["w.", "é.", "ж.", "w.w.w. ", "1.w.", "你."])
def test_thousands_of_letters_with_dots_are_spoken(letter: str) -> None:
    """espeak-ng writes out of bounds after some hundred of these."""
    text = (letter * 2_500)[:5_000]
    assert phonemize(text, ENGLISH)


def test_the_first_sentence_comes_with_the_others_unread() -> None:
    first, others = phonemize_first("... Hello. How are you? Well.", ENGLISH)
    assert first == phonemize("Hello.", ENGLISH)
    assert others == ["How are you?", "Well."]
    before = sum(len(part.ids) for part in first)
    assert phonemize_others(others, ENGLISH, before) == phonemize("How are you? Well.", ENGLISH)


def test_a_long_first_sentence_begins_with_a_short_part() -> None:
    parts, _ = phonemize_first("bananas " * 40 + "apples. Hello.", ENGLISH)
    assert len(parts[0].ids) <= 160 < len(parts[1].ids)
    assert [part.ends for part in parts] == [*[False] * (len(parts) - 1), True]
    symbols = [symbol for part in parts for symbol in part.ids[2:-1]]
    assert symbols == [symbol for ids in _said("bananas " * 40 + "apples.") for symbol in ids[2:-1]]


KOKORO = KokoroAlphabet("en", "en-us", {chr(number): [number] for number in range(1, 0x2000)})
_LONG = "bananas " * 100 + "apples."


def _lengths(parts: list[Utterance]) -> list[int]:
    return [len(part.ids) - 2 for part in parts]


def test_kokoro_gets_its_symbols_between_two_zeros() -> None:
    (utterance,) = phonemize("Hello.", KOKORO)
    assert utterance.ids == [0, *map(ord, "həlˈO."), 0]


def test_kokoro_speaks_first_more_than_a_second_and_then_at_most_twice_what_was_spoken_before() -> None:
    parts, others = phonemize_first(f"{_LONG} {_LONG}", KOKORO)
    lengths = _lengths(parts + phonemize_others(others, KOKORO, sum(len(part.ids) for part in parts)))
    assert lengths[0] <= 22
    assert all(length <= 2 * sum(lengths[:place]) for place, length in enumerate(lengths) if place)
    assert max(lengths) > 150


def test_sentences_after_a_short_first_one_are_short_too() -> None:
    parts, others = phonemize_first(f"Hello. {_LONG}", KOKORO)
    assert _lengths(phonemize_others(others, KOKORO, len(parts[0].ids)))[0] <= 22


def test_kokoro_says_short_sentences_in_one_call_and_piper_does_not() -> None:
    text = "Hello. How are you? " * 20
    assert len(phonemize(text, ENGLISH)) == 40
    lengths = _lengths(phonemize(text, KOKORO))
    assert max(lengths) <= 198
    assert len(lengths) == -(-sum(lengths) // 198)


def test_joined_sentences_end_where_the_last_one_does() -> None:
    assert [part.ends for part in phonemize("Hello. " + "bananas " * 60, KOKORO)] == [False, False, True]


def test_the_lines_of_a_list_are_joined_with_pauses() -> None:
    (utterance,) = phonemize("Item one\nItem two\nItem three", KOKORO)
    assert "".join(map(chr, utterance.ids)).count(". ") == 2


@given(text=st.text(st.sampled_from("aAbIVX059.,:;!?-–/*_#$€°½'\"()<>=|`~@ \n") | st.characters(), max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    for language in ("en", "de", "fr", "it", "es"):
        assert all(sentence.strip() for sentence in split(text, language))


def test_sentences_leave_little_memory_behind() -> None:
    phonemize("Hello you.", ENGLISH)
    process = psutil.Process()
    before = process.memory_full_info().uss
    for _ in range(2_000):
        phonemize("Hello you.", ENGLISH)
    # espeak-ng's bridge leaks as much for each time that it is told the voice.
    assert process.memory_full_info().uss - before < 2_000 * 1_000
