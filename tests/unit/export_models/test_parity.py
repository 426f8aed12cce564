import math

from scripts.export_models.parity import Check, table


def test_a_difference_over_its_limit_fails() -> None:
    assert not Check("m", "w", 2e-5, 1e-5).passed


def test_a_difference_that_is_not_a_number_fails() -> None:
    assert not Check("m", "w", math.nan, 1e-5).passed


def test_the_table_says_which_check_failed() -> None:
    lines = table([Check("good", "w", 0, 1e-5), Check("bad", "w", 1, 1e-5)]).splitlines()
    assert lines[1].endswith("ok")
    assert lines[2].endswith("FAILED")
