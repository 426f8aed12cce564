import pytest

from scripts.benchmark.common.recorded import Recording
from scripts.benchmark.common.word_errors import Errors, Heard, errors, spelled


def _said(*texts: str, language: str = "en", starts: tuple[float, ...] = ()) -> Recording:
    return Recording(b"", language, 1.0, texts, starts or tuple(map(float, range(len(texts)))))


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Press 1, then #.", "en", "press one then"),
        ("Premere 24!", "it", "premere ventiquattro"),
        ("Appuyez sur 21", "fr", "appuyez sur vingt et un"),
        ("L'utente è occupato", "it", "l utente è occupato"),
        ("ext.42", "en", "ext forty two"),
    ],
)
def test_digits_are_spelled_in_the_language_and_punctuation_parts_words(
    text: str, language: str, expected: str
) -> None:
    assert spelled(text, language) == expected.split()


def test_digits_and_words_for_them_are_the_same() -> None:
    assert errors([_said("Press 1 now")], [Heard("press one NOW.")]) == Errors(3, 0, ())


def test_words_replaced_left_out_and_put_in_are_counted_over_all_files() -> None:
    found = errors([_said("a b c"), _said("d e")], [Heard("a x c c"), Heard("e")])
    assert (found.said, found.wrong, found.rate) == (5, 3, 0.6)


def test_of_nothing_heard_every_word_is_wrong() -> None:
    assert errors([_said("a b c")], [Heard("")]) == Errors(3, 3, ())


def test_the_first_word_of_each_prompt_is_held_to_where_the_prompt_begins() -> None:
    said = _said("Hello there", "call 2 people", "good bye", starts=(1.0, 3.0, 6.0))
    words = [("Hello", 1.25, 1.5), ("there", 1.5, 2.0), ("call", 2.5, 3.5), ("2", 3.5, 4.0), ("people.", 4.0, 5.0)]
    found = errors([said], [Heard("Hello there call 2 people could bye", [*words, ("could", 9.0, 9.5)])])
    assert found.late == (0.25, 0.5)
    assert found.start_error == pytest.approx(0.375)


def test_without_timed_words_no_error_of_times_is_told() -> None:
    assert errors([_said("a")], [Heard("a")]).start_error is None
