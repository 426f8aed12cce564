"""Run the tests that docs/reliability.md names: ``python -m tests.reliability [words] [options of pytest]``.

With words, those whose file or name has one of them.

In the page, ``unit/billing/charges::a_name`` is ``test_a_name`` in tests/unit/billing/test_charges.py.
"""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reliability.md"
_NAMED = re.compile(r"`([a-z0-9_/]+)::([a-z0-9_]+)`")


def named(text: str) -> list[tuple[str, str]]:
    """The file and the function of each test, in order and once."""
    return list(dict.fromkeys((_file(place), f"test_{name}") for place, name in _NAMED.findall(text)))


def _file(place: str) -> str:
    folder, _, name = place.rpartition("/")
    return f"{f'client/tests{folder[6:]}' if folder.startswith('client') else f'tests/{folder}'}/test_{name}.py"


def main(arguments: list[str]) -> int:
    words, options = ([each for each in arguments if each.startswith("-") is an_option] for an_option in (False, True))
    tests = [f"{file}::{function}" for file, function in named(PAGE.read_text(encoding="utf-8"))]
    chosen = [test for test in tests if not words or any(word in test for word in words)]
    return pytest.main(["-q", *options, *chosen]) if chosen else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
