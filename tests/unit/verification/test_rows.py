"""What the table shows of a fact."""

import pytest

from frontend.verification.rows import Row


@pytest.mark.parametrize(("length", "shown"), [(44, "x" * 44), (45, "x" * 20 + " … " + "x" * 21)])
def test_a_long_fact_is_cut_in_its_middle_to_the_width_of_its_column(length: int, shown: str) -> None:
    assert Row("x" * length, "", "", "", True).cells[0] == shown


def test_a_fact_stands_on_one_line() -> None:
    assert Row("one\n  two", "", "", "", True).cells[0] == "one two"
