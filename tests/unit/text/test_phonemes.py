import psutil
import pytest
from piper.phoneme_ids import DEFAULT_PHONEME_ID_MAP, phonemes_to_ids

from frontend.text.alphabets import Alphabet, KokoroAlphabet, PiperAlphabet
from frontend.text.phonemes import MOST_IDS, Utterance, phonemize, phonemize_first, phonemize_others
from frontend.text.sentences import split

ENGLISH = PiperAlphabet("en", "en-us", DEFAULT_PHONEME_ID_MAP)
PAUSES = tuple(DEFAULT_PHONEME_ID_MAP[mark][0] for mark in ".!?")
COMMA, SPACE = DEFAULT_PHONEME_ID_MAP[","][0], DEFAULT_PHONEME_ID_MAP[" "][0]


def _said(text: str) -> list[list[int]]:
    return [part.ids for part in phonemize(text, ENGLISH, split)]


def test_ids_are_those_of_pipers_own_function() -> None:
    assert _said("Hello.") == [phonemes_to_ids(list("həlˈoʊ."))]


def test_a_pad_follows_the_start() -> None:
    assert _said("Hello.")[0][:2] == [1, 0]


@pytest.mark.parametrize("text", ["", "...", " - ", "?!"])
def test_text_without_sounds_gives_nothing(text: str) -> None:
    assert phonemize(text, ENGLISH, split) == []


def test_double_brackets_are_no_phoneme_codes() -> None:
    """espeak-ng's command line reads these as phonemes."""
    assert _said("[[h@l'oU]]") == _said("h@l'oU")


@pytest.mark.parametrize("sentence", ["J. K. Rowling wrote it.", "The U.S. Army came.", 'He said "Go!" and left.'])
def test_a_sentence_that_espeak_splits_stays_one(sentence: str) -> None:
    (utterance,) = phonemize(sentence, ENGLISH, lambda text, language: [text])
    assert [place for place, symbol in enumerate(utterance.ids) if symbol in PAUSES] == [len(utterance.ids) - 3]


def test_the_last_part_of_a_sentence_ends_it() -> None:
    parts = phonemize("bananas " * 60 + "apples. Hello.", ENGLISH, split)
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
    assert phonemize("Hello.", small, split) == [Utterance([1, 0, 20, 0, 2])]


@pytest.mark.parametrize("letter", ["w.", "é.", "ж.", "w.w.w. ", "1.w.", "你."])
def test_thousands_of_letters_with_dots_are_spoken(letter: str) -> None:
    """espeak-ng writes out of bounds after some hundred of these."""
    text = (letter * 2_500)[:5_000]
    assert phonemize(text, ENGLISH, split)


def test_the_first_sentence_comes_with_the_others_unread() -> None:
    first, others = phonemize_first("... Hello. How are you? Well.", ENGLISH, split)
    assert first == phonemize("Hello.", ENGLISH, split)
    assert others == ["How are you?", "Well."]
    before = sum(len(part.ids) for part in first)
    assert phonemize_others(others, ENGLISH, before) == phonemize("How are you? Well.", ENGLISH, split)


def test_a_long_first_sentence_begins_with_a_short_part() -> None:
    parts, _ = phonemize_first("bananas " * 40 + "apples. Hello.", ENGLISH, split)
    assert len(parts[0].ids) <= 160 < len(parts[1].ids)
    assert [part.ends for part in parts] == [*[False] * (len(parts) - 1), True]
    symbols = [symbol for part in parts for symbol in part.ids[2:-1]]
    assert symbols == [symbol for ids in _said("bananas " * 40 + "apples.") for symbol in ids[2:-1]]


KOKORO = KokoroAlphabet("en", "en-us", {chr(number): [number] for number in range(1, 0x2000)})
_LONG = "bananas " * 100 + "apples."


def _lengths(parts: list[Utterance]) -> list[int]:
    return [len(part.ids) - 2 for part in parts]


def test_kokoro_gets_its_symbols_between_two_zeros() -> None:
    (utterance,) = phonemize("Hello.", KOKORO, split)
    assert utterance.ids == [0, *map(ord, "həlˈO."), 0]


def test_kokoro_speaks_first_more_than_a_second_and_then_at_most_twice_what_was_spoken_before() -> None:
    parts, others = phonemize_first(f"{_LONG} {_LONG}", KOKORO, split)
    lengths = _lengths(parts + phonemize_others(others, KOKORO, sum(len(part.ids) for part in parts)))
    assert lengths[0] <= 22
    assert all(length <= 2 * sum(lengths[:place]) for place, length in enumerate(lengths) if place)
    assert max(lengths) > 150


@pytest.mark.parametrize(("alphabet", "most"), [(ENGLISH, 2 * 78 + 1), (KOKORO, 22)])
def test_sentences_after_a_short_first_one_are_short_too(alphabet: Alphabet, most: int) -> None:
    parts, others = phonemize_first(f"Hi. {_LONG}", alphabet, split)
    assert _lengths(phonemize_others(others, alphabet, len(parts[0].ids)))[0] <= most


def test_kokoro_says_short_sentences_in_one_call_and_piper_does_not() -> None:
    text = "Hello. How are you? " * 20
    assert len(phonemize(text, ENGLISH, split)) == 40
    lengths = _lengths(phonemize(text, KOKORO, split))
    assert max(lengths) <= 198
    assert len(lengths) == -(-sum(lengths) // 198)


def test_joined_sentences_end_where_the_last_one_does() -> None:
    assert [part.ends for part in phonemize("Hello. " + "bananas " * 60, KOKORO, split)] == [False, False, True]


def test_the_lines_of_a_list_are_joined_with_pauses() -> None:
    (utterance,) = phonemize("Item one\n\nItem two\n\nItem three", KOKORO, split)
    assert "".join(map(chr, utterance.ids)).count(". ") == 2


def test_joined_sentences_keep_their_own_ends() -> None:
    (utterance,) = phonemize("How are you? Hello. Well.", KOKORO, split)
    assert [symbol for symbol in map(chr, utterance.ids) if symbol in ".?"] == ["?", ".", "."]


def test_sentences_leave_little_memory_behind() -> None:
    phonemize("Hello you.", ENGLISH, split)
    process = psutil.Process()
    before = process.memory_full_info().uss
    for _ in range(2_000):
        phonemize("Hello you.", ENGLISH, split)
    # espeak-ng's bridge leaks as much for each time that it is told the voice.
    assert process.memory_full_info().uss - before < 2_000 * 1_000
