"""docs/reliability.md names tests that exist, and all those of failures and attacks."""

import ast
from functools import cache

import pytest

from tests.reliability import PAGE, ROOT, named

NAMED = named(PAGE.read_text(encoding="utf-8"))

# What holds no promise, but the number of cases.
COUNTING = {"test_there_are_150_cases_at_least"}


@cache
def _functions(file: str) -> set[str]:
    nodes = ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8")))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("file", dict.fromkeys(file for file, _ in NAMED))
def test_a_test_that_is_named_exists(file: str) -> None:
    assert {function for where, function in NAMED if where == file} - _functions(file) == set()


@pytest.mark.parametrize("file", [str(path.relative_to(ROOT)) for path in (ROOT / "tests/faults").glob("test_*.py")])
def test_a_test_of_failures_or_attacks_is_named(file: str) -> None:
    tests = {name for name in _functions(file) if name.startswith("test_")}
    assert tests - {function for where, function in NAMED if where == file} - COUNTING == set()
