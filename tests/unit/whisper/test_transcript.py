from typing import Any

import numpy as np
import pytest

from scripts.export_models.triton_code import recognizer_module

transcript = recognizer_module("transcript")


def test_a_loop_has_a_high_compression_ratio() -> None:
    assert transcript.compression_ratio("and then " * 40) > 2.4
    assert transcript.compression_ratio("Good morning Anna, can you buy some bread today?") < 2.4


def test_letters_of_two_bytes_are_no_loop() -> None:
    text = "Нажмите один, чтобы принять эту запись, два, чтобы прослушать её, и три, чтобы записать сообщение заново. "
    text += "Для отмены нажмите ноль, для перехода в главное меню нажмите девять, для выхода повесьте трубку."
    assert transcript.compression_ratio(text) < 2.0


def test_no_text_is_no_loop() -> None:
    assert transcript.compression_ratio("") == 1.0


@pytest.mark.parametrize(
    ("language", "pieces", "expected"),
    [
        ("en", [" Good", " mor", "ning", ",", " Anna", "."], [[0], [1, 2, 3], [4, 5]]),
        ("en", ["Good", " day"], [[0], [1]]),
        ("fr", [" Vrai", " ?", " Oui", " !"], [[0, 1], [2, 3]]),
        ("zh", ["你", "好", "。", "很"], [[0], [1, 2], [3]]),
        ("ja", ["これ", "は", "「", "本", "」"], [[0], [1], [2], [3], [4]]),
        ("en", [" said", ' "', "Hello", '"', " and"], [[0], [1, 2, 3], [4]]),
        ("en", [" said", " '", "Hello", "'", " and"], [[0], [1, 2, 3], [4]]),
    ],
)
def test_pieces_make_words_with_their_punctuation(language: str, pieces: list[str], expected: list[list[int]]) -> None:
    assert transcript.group_words(pieces, language) == expected


def test_a_character_of_several_tokens_is_given_to_the_first() -> None:
    data = " ö€!".encode()
    pieces = transcript.decode_pieces(data, lambda ids: bytes(ids).decode("utf-8", "replace"))
    assert pieces == [" ", "ö", "", "€", "", "", "!"]


def test_half_a_character_at_the_end_is_left_out() -> None:
    pieces = transcript.decode_pieces(" ö".encode()[:-1], lambda ids: bytes(ids).decode("utf-8", "replace"))
    assert pieces == [" ", ""]


@pytest.mark.parametrize(
    ("language", "text", "words"), [("zh", "饕餮。", ["饕", "餮。"]), ("ru", " ёж ёж", [" ёж", " ёж"])]
)
def test_a_character_of_several_tokens_is_in_one_word(tokens: Any, language: str, text: str, words: list[str]) -> None:
    """In the pieces of the model's own tokenizer."""
    ids = tokens._tokenizer.encode(text, add_special_tokens=False).ids
    pieces = transcript.decode_pieces(ids, tokens.decode)
    assert len(ids) > len(text.replace("。", "")) / 2
    assert ["".join(pieces[index] for index in group) for group in transcript.group_words(pieces, language)] == words


@pytest.mark.parametrize(
    ("language", "pieces", "starts", "words"),
    [
        ("en", [" mor", "ning", " all"], [0.2, 0.5, 0.9, 2.0], [(" morning", 0.2, 0.9), (" all", 0.9, 2.0)]),
        # Its sound fades, but the silence behind it is not the word's.
        ("en", [" Yes", ".", '"', " No"], [0.2, 0.5, 0.9, 2.0, 2.4], [(' Yes."', 0.2, 0.56), (" No", 2.0, 2.4)]),
        ("en", [" Yes", ",", " no"], [0.2, 0.5, 0.52, 2.4], [(" Yes,", 0.2, 0.52), (" no", 0.52, 2.4)]),
        ("en", ["...", " Yes"], [0.0, 1.0, 2.0], [("...", 0.0, 1.0), (" Yes", 1.0, 2.0)]),
        ("en", [], [0.0], []),
        ("zh", ["你", "好", "。"], [0.0, 0.3, 0.6, 0.7], [("你", 0.0, 0.3), ("好。", 0.3, 0.66)]),
    ],
    ids=[
        "to the token behind its last",
        "soon after its punctuation",
        "before the next one",
        "punctuation alone is one",
        "none",
        "characters lie end to end",
    ],
)
def test_a_word_lasts_from_its_first_token(
    language: str, pieces: list[str], starts: list[float], words: list[tuple[str, float, float]]
) -> None:
    placed = transcript.place_words(pieces, np.array(starts), [1.0] * len(pieces), language)
    assert [(word.text, word.start, word.end) for word in placed] == [
        (text, pytest.approx(start), pytest.approx(end)) for text, start, end in words
    ]


def test_a_word_is_as_probable_as_its_tokens_are_on_average() -> None:
    words = transcript.place_words([" mor", "ning", " all"], np.arange(4.0), [0.9, 0.5, 0.2], "en")
    assert [word.probability for word in words] == pytest.approx([0.7, 0.2])


@pytest.mark.parametrize(
    ("pieces", "starts", "seconds", "stretch"),
    [
        ([" a", " b"], [0.0, 2.9, 5.8], 7.0, None),
        ([" a", ".", " b"], [0.0, 0.5, 2.5, 3.0], 4.0, None),
        ([" a", ".", " b"], [0.0, 0.5, 2.6, 3.0], 4.0, (0.5, 2.6)),
        ([" a", " b", " c"], [0.0, 0.5, 3.6, 4.0], 5.0, (0.5, 3.6)),
        ([" a", " b", "b", " c"], [0.0, 0.5, 0.8, 3.9, 4.0], 5.0, (0.5, 3.9)),
        ([" a", " b"], [2.1, 2.5, 3.0], 4.0, (0.0, 2.1)),
        ([" a", " b"], [0.0, 0.5, 1.0], 3.1, (1.0, 3.1)),
        ([" a", "."], [0.0, 0.5, 3.0], 4.0, (0.5, 3.0)),
        ([" a", ".", " b", ".", " c"], [0.0, 0.5, 3.0, 3.5, 6.0, 6.5], 7.0, (0.5, 6.0)),
        ([" a", ".", " b", " c"], [0.0, 0.5, 3.0, 3.5, 4.0], 7.0, (0.5, 7.0)),
        (["...", " b"], [0.0, 2.5, 3.0], 4.0, (0.0, 2.5)),
        ([], [0.0], 8.0, None),
        ([" you"], [0.0, 8.0], 8.0, None),
    ],
    ids=[
        "words of three seconds",
        "a pause of two",
        "a longer one",
        "a longer word",
        "a longer word of two tokens",
        "before the first",
        "behind the last",
        "punctuation at the end",
        "two of them",
        "one within and one at the end",
        "punctuation alone",
        "no word in the whole window",
        "one word for the whole window",
    ],
)
def test_speech_without_words_is_found(
    pieces: list[str], starts: list[float], seconds: float, stretch: tuple[float, float] | None
) -> None:
    assert transcript.unheard(pieces, np.array(starts), seconds, "en") == stretch


def test_the_tokens_of_a_character_are_one_word_that_may_be_too_long() -> None:
    stretch = transcript.unheard(["你", "", "好"], np.array([0.0, 0.2, 3.4, 4.0]), 5.0, "zh")
    assert stretch == (0.0, 3.4)
