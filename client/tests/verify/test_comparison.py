import pytest

from client.recordings import words
from client.verify.comparison import Comparison, compare
from client.verify.questions import Transcript

PHRASES = ["Ferme la fenêtre, s'il te plaît,", "il fait froid."]
SPANS = [(0.5, 2.0), (2.2, 3.0)]
HEARD = [
    (" Ferme", 0.5, 0.8),
    (" la", 0.8, 1.0),
    (" fenêtre,", 1.0, 1.4),
    (" s’il", 1.4, 1.6),
    (" te", 1.6, 1.8),
    (" plaît,", 1.8, 2.1),
    (" il", 2.1, 2.4),
    (" fait", 2.4, 2.7),
    (" froid.", 2.7, 3.0),
]


def _heard(*changed: tuple[int, tuple[str, float, float]]) -> Transcript:
    said = [dict(changed).get(place, word) for place, word in enumerate(HEARD)]
    return Transcript("".join(text for text, _, _ in said), "fr", -0.1, said)


def test_words_are_without_case_and_punctuation_and_parted_at_apostrophes() -> None:
    assert words("L’été, peut-être: À ＤＥＵＸ!") == ["l", "été", "peut", "être", "à", "deux"]


def test_what_was_heard_right_is_as_late_as_the_pauses_make_it() -> None:
    found = compare(PHRASES, SPANS, _heard())
    assert (found.said, found.errors) == (10, 0)
    assert found.late == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("place", "word", "late"),
    [
        (0, (" Ferme", 0.1, 0.8), 0.4),
        (5, (" plaît,", 1.8, 2.5), 0.5),
        (6, (" il", 1.8, 2.4), 0.4),
        (2, (" fenêtre,", 2.6, 2.7), 0.7),
        (5, (" plaît,", 1.6, 1.7), 0.3),
        (8, (" froid.", 2.4, 2.6), 0.4),
        (6, (" il", 2.5, 2.6), 0.3),
    ],
    ids=[
        "first too early",
        "last too late",
        "first of the second",
        "in another phrase",
        "last too early",
        "last of all too early",
        "first too late",
    ],
)
def test_a_word_outside_of_its_phrase_is_late(place: int, word: tuple[str, float, float], late: float) -> None:
    assert compare(PHRASES, SPANS, _heard((place, word))).late == pytest.approx(late)


def test_other_words_are_errors_and_their_times_are_not_asked() -> None:
    found = compare(PHRASES, SPANS, _heard((8, (" chaud.", 9.0, 9.9))))
    assert found.errors == 1
    assert found.late == pytest.approx(0.1)


def test_silence_is_all_wrong() -> None:
    assert compare(PHRASES, SPANS, Transcript("", "", 0.0, [])) == Comparison(10, 10, 0.0)
