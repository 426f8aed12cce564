"""docs/reliability.md names tests that exist, and all those of failures and attacks."""

import re

import pytest

from scripts.prose import missing_tests
from tests.reliability import PAGE, ROOT, named

TEXT = PAGE.read_text(encoding="utf-8")
# What holds no promise, but the number of cases.
COUNTING = {"test_there_are_150_cases_at_least"}


def test_every_test_that_is_named_exists() -> None:
    assert list(missing_tests(TEXT)) == []


@pytest.mark.parametrize("file", [str(path.relative_to(ROOT)) for path in (ROOT / "tests/faults").glob("test_*.py")])
def test_a_test_of_failures_or_attacks_is_named(file: str) -> None:
    tests = re.findall(r"^(?:async )?def (test_\w+)", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert set(tests) - {function for where, function in named(TEXT) if where == file} - COUNTING == set()
