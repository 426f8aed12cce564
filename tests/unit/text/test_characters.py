import unicodedata

import pytest

from frontend.text.characters import readable


@pytest.mark.parametrize("text", ["Können wir über die Brücke?", "café naïve", "Åre"])
def test_letters_are_composed(text: str) -> None:
    assert readable(unicodedata.normalize("NFD", text)) == text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The o\ufb03ce", "The office"),
        ("\uff28\uff45\uff4c\uff4c\uff4f", "Hello"),
        ("\U0001d407\U0001d41e\U0001d425\U0001d425\U0001d428", "Hello"),
        ("\u2460 \u338f", "1 kg"),
        ("\u33c2", "a.m."),
        ("a\u00a0b", "a b"),
        ("Dona\u00addampf\u200bschiff\ufeff", "Donadampfschiff"),
        ("don`t don\u2019t don\u00b4t", "don't don't don't"),
        ("e\u2011mail", "e-mail"),
        ("Hel\0lo", "Hel lo"),
    ],
)
def test_letters_are_plain(text: str, plain: str) -> None:
    assert readable(text) == plain


@pytest.mark.parametrize("text", ["½ cup", "x² + y³", "H₂O", "so… on", "5 €", "東京。", "№ 5", "5 µm"])
def test_what_means_something_of_its_own_is_kept(text: str) -> None:
    assert readable(text) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1'000 Franken", "1000 Franken"),
        ("1’250’000.50", "1250000.50"),
        ("12'34", "12'34"),
        ("'90s and 5'11", "'90s and 5'11"),
        ("1'0000", "1'0000"),
    ],
)
def test_thousands_may_be_parted_by_apostrophes(text: str, number: str) -> None:
    assert readable(text) == number


@pytest.mark.parametrize(
    ("text", "mark"), [("Go!!!", "Go!"), ("Go???", "Go?"), ("Go?!", "Go?"), ("Go!?!!", "Go?"), ("Go!", "Go!")]
)
def test_repeated_marks_become_one(text: str, mark: str) -> None:
    assert readable(text) == mark


def test_a_text_does_not_grow_by_much() -> None:
    every = "".join(chr(code) for code in range(0x20, 0x2FFFF) if not 0xD800 <= code < 0xE000)
    assert max(len(readable(character)) for character in every) <= 4
