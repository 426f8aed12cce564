"""docs/contract.md names tests that exist."""

import ast
import re

from tests.conftest import ROOT


def _tests(path: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_test_in_the_table_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", (ROOT / "docs" / "contract.md").read_text(encoding="utf-8"))
    assert len(named) > 100
    assert [f"{path}::{name}" for path, name in named if name not in _tests(path)] == []
