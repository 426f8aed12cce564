from scripts.benchmark.peers.picture import BENCHMARKS, PICTURE, bars, mark


def test_the_bars_are_the_first_table() -> None:
    text = "| a | b | c |\n|---|---|---|\n| work, int8 | other | 14.57 |\n| more | another | 2 |\n\n| no | no | 3 |"
    assert bars(text) == [("work, int8", "other", 14.57), ("more", "another", 2.0)]


def test_the_picture_was_drawn_of_the_table_as_it_is() -> None:
    rows = bars(BENCHMARKS.read_text(encoding="utf-8"))
    assert len(rows) >= 10
    assert PICTURE.read_text(encoding="utf-8").endswith(mark(rows))
