"""Rounds and table of the comparison on recordings of people."""

from collections.abc import Sequence

from scripts.benchmark.common.recorded import Recording
from scripts.benchmark.common.summary import Spread
from scripts.benchmark.common.word_errors import Heard
from scripts.benchmark.peers.recordings import compare, table, times_as_fast

SAID = [Recording(b"", "en", 4.0, ("one two three four",), (1.0,))]


class Fixed:
    """Hears the same each time, in the seconds it was given, the first for what warms it up."""

    def __init__(self, heard: Heard, *seconds: float) -> None:
        self._heard, self._seconds = heard, iter(seconds)

    def hear(self, recordings: Sequence[Recording]) -> tuple[float, list[Heard]]:
        return next(self._seconds), [self._heard for _ in recordings]


def _sides() -> dict[str, Fixed]:
    timed = [("one", 1.25, 1.5)]
    return {
        "Quartet quick": Fixed(Heard("one two three for", timed), 9, 1, 2, 1),
        "Quartet right": Fixed(Heard("one two three four"), 9, 2, 3, 2),
        "peer": Fixed(Heard("one two four"), 9, 3, 2, 3),
        "slow": Fixed(Heard("one two three four"), 9, 10),
    }


def test_slow_peers_are_measured_once_and_ratios_are_to_the_quickest_that_errs_no_more() -> None:
    rows = compare("clips", _sides(), SAID, SAID, 3)
    assert [row.seconds for row in rows] == [[1, 2, 1], [2, 3, 2], [3, 2, 3], [10]]
    assert [times_as_fast(row, rows) for row in rows] == [None, None, Spread(3, 1, 3), Spread(5, 5, 5)]


def test_the_table_has_words_wrong_and_times_of_words_beside_seconds() -> None:
    lines = table(compare("clips", _sides(), SAID, SAID, 3)).splitlines()
    assert lines[2] == "| Quartet quick | 1.0 | 3 | 25.00 % | 0.25 s |  |"
    assert lines[5] == "| slow | 10.0 | 1 | 0.00 % |  | measured once |"


def test_a_peer_with_fewer_words_wrong_than_the_product_has_no_ratio() -> None:
    sides = {"Quartet": Fixed(Heard("one"), 9, 1), "peer": Fixed(Heard("one two three four"), 9, 2)}
    assert table(compare("clips", sides, SAID, SAID, 1)).splitlines()[3].endswith("| none is |")
