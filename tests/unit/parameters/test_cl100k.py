"""Tokens of cl100k_base become the texts that they came from."""

import pytest

from frontend.errors import InvalidRequest, TooLarge
from frontend.parameters import cl100k

# From tiktoken itself.
KNOWN = {
    "Hello, world!": [9906, 11, 1917, 0],
    "Im April ist der See kalt.": [1453, 5936, 6127, 2761, 3580, 597, 3223, 13],
    "\u732b\U0001f44d": [163, 234, 104, 9468, 239, 235],
}
SPACES = 58040  # 128 of them


@pytest.mark.parametrize("text", KNOWN)
def test_tokens_become_their_text(text: str) -> None:
    assert cl100k.texts_of([KNOWN[text], [0]], "input") == [text, "!"]


def test_the_last_token_is_text_and_what_comes_behind_is_none() -> None:
    assert cl100k.texts_of([[100_255]], "input") == [" Conveyor"]
    others: tuple[object, ...] = (100_256, 100_257, 100_276, 10**30, -1, True, 1.0, float("inf"), "a", None, [])
    for token in others:
        with pytest.raises(InvalidRequest, match=r"input\[1\] must have tokens of cl100k_base, from 0 to 100255"):
            cl100k.texts_of([[0], [0, token]], "input")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ([[1], []], r"input\[1\] is empty"),
        ([[1], 2], r"input\[1\] must be an array of tokens"),
        ([[1], "a"], r"input\[1\] must be an array of tokens"),
    ],
)
def test_what_is_no_array_of_tokens_is_refused_by_its_index(arrays: list[object], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        cl100k.texts_of(arrays, "input")


def test_an_array_that_ends_within_a_character_has_a_sign_for_it() -> None:
    emoji = KNOWN["\u732b\U0001f44d"]
    assert cl100k.texts_of([emoji[:4], emoji[4:]], "input") == ["\u732b\ufffd", "\ufffd\ufffd"]


def test_much_text_of_few_tokens_is_refused() -> None:
    # 580 tokens may have 65,536 characters and 8 for each, as many as these. The others have one too many.
    assert [len(text) for text in cl100k.texts_of([[0] * 32, [SPACES] * 548], "input")] == [32, 70_144]
    with pytest.raises(TooLarge):
        cl100k.texts_of([[0] * 49, [SPACES] * 549], "input")


def test_a_file_with_other_tokens_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cl100k, "_DIGEST", "0" * 64)
    with pytest.raises(ImportError, match="other tokens than cl100k_base"):
        cl100k._read()
