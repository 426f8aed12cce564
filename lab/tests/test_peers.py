"""Ratios and word errors of comparisons."""

from lab.peers import ratios
from lab.peers.recorded import Recording
from lab.peers.sides import Case
from lab.peers.word_errors import Errors, Heard, errors

SAID = Recording(b"", "en", 1.0, ("Hello there", "call 2 people"), (1.0, 3.0))


class FixedSide:
    """Takes the given seconds in turn, and always hears the same."""

    def __init__(self, heard: str, *seconds: float) -> None:
        self._heard, self._seconds = [Heard(heard)], iter(seconds)

    def run(self) -> tuple[float, list[Heard]]:
        return next(self._seconds), self._heard


def test_the_first_round_is_a_warm_up() -> None:
    sides = {"Quartet": FixedSide("", 9, 1, 2, 1), "peer": FixedSide("", 9, 3, 4, 8)}
    found = ratios.compare(Case("embeddings", "tokens", 100, {}), sides, 3)
    assert ratios.table(found).splitlines()[-1] == "| peer | 25.0 | 3.00 (2.00 to 8.00) |"


def test_a_peer_is_compared_with_the_fastest_side_without_more_errors() -> None:
    right, wrong = "hello there call two people", "hello there"
    sides = {"Quartet a": FixedSide(wrong, 9, 1), "Quartet b": FixedSide(right, 9, 2), "peer": FixedSide(right, 9, 6)}
    found = ratios.compare(Case("file", "seconds", 12, {}, [SAID]), sides, 1)
    assert ratios.table(found).splitlines()[-1] == "| peer | 2.0 | 0.00 % |  | 3.00 (3.00 to 3.00) |"


def test_replaced_missing_and_added_words_are_errors_and_digits_are_words() -> None:
    assert errors([SAID], [Heard("hello their call two")]) == Errors(5, 2, ())


def test_start_errors_compare_the_first_word_of_each_prompt() -> None:
    words = [("Hello", 1.25, 1.5), ("there", 1.5, 2.0), ("call", 2.5, 3.5), ("2", 3.5, 4.0), ("people.", 4.0, 5.0)]
    assert errors([SAID], [Heard("Hello there call 2 people", words)]).late == (0.25, 0.5)


def test_ratios_compare_times_of_the_same_round() -> None:
    assert f"{ratios.Spread.of_ratios([3, 4, 8], [1, 2, 1]):.1f}" == "3.0 (2.0 to 8.0)"
