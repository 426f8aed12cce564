import pytest
from piper.phoneme_ids import DEFAULT_PHONEME_ID_MAP, phonemes_to_ids

from frontend.text.phonemes import MOST_IDS, Alphabet, phonemize, phonemize_first, phonemize_rest

ENGLISH = Alphabet("en", "en-us", DEFAULT_PHONEME_ID_MAP)


def test_ids_are_those_of_pipers_own_function() -> None:
    symbols = list("həlˈoʊ.")
    assert phonemize(["Hello."], ENGLISH) == [phonemes_to_ids(symbols)]


def test_a_pad_follows_the_start() -> None:
    assert phonemize(["Hello."], ENGLISH)[0][:2] == [1, 0]


@pytest.mark.parametrize("text", ["", "...", " - ", "?!"])
def test_what_cannot_be_spoken_gives_nothing(text: str) -> None:
    assert phonemize([text], ENGLISH) == []


def test_double_brackets_are_no_phoneme_codes() -> None:
    """espeak-ng's command line takes these for "hello"."""
    assert phonemize(["[[h@l'oU]]"], ENGLISH) == phonemize(["h@l'oU"], ENGLISH)


def test_a_nul_is_not_said() -> None:
    assert phonemize(["Hel\0lo."], ENGLISH) == phonemize(["Hello."], ENGLISH)


def test_a_long_sentence_is_cut() -> None:
    ids = phonemize(["bananas " * 200], ENGLISH)
    assert max(map(len, ids)) <= MOST_IDS
    assert len(ids) > 1


def test_a_long_sentence_is_cut_between_words_as_late_as_may_be() -> None:
    word = phonemize(["bananas"], ENGLISH)[0][2:-1]
    first, *_, last = phonemize(["bananas " * 200], ENGLISH)
    # The ids of a word and of the space behind it.
    most = MOST_IDS - len(word) - 2
    assert most <= len(first) <= MOST_IDS
    assert first[-3] == DEFAULT_PHONEME_ID_MAP[" "][0]
    assert last[2 : 2 + len(word)] == word


def test_an_unknown_symbol_is_left_out() -> None:
    small = Alphabet("en", "en-us", {"^": [1], "_": [0], "$": [2], "h": [20]})
    assert phonemize(["Hello."], small) == [[1, 0, 20, 0, 2]]


def test_a_text_is_phonemized_in_two_parts() -> None:
    text = "One. Mr. Two went. Three."
    assert phonemize_first(text, ENGLISH) == phonemize(["One."], ENGLISH)
    assert phonemize_rest(text, ENGLISH) == phonemize(["Mr. Two went.", "Three."], ENGLISH)
