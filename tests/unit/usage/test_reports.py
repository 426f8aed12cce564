import csv
import io

import pytest

from frontend.usage.reports import to_csv


@pytest.mark.parametrize("cell", ["a;b", "a,b", 'a"b', "a\nb", "a\rb", "plain", ""])
def test_a_cell_is_read_as_it_was_written(cell: str) -> None:
    assert list(csv.reader(io.StringIO(to_csv([[cell, "1"]]), newline=""))) == [[cell, "1"]]


def test_a_spreadsheet_that_cuts_at_semicolons_leaves_a_cell_whole() -> None:
    assert next(csv.reader(io.StringIO(to_csv([["a;=1+1"]])), delimiter=";")) == ["a;=1+1"]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_a_cell_that_would_be_a_formula_is_text(text: str) -> None:
    assert to_csv([[text]]).lstrip('"').startswith("'")
