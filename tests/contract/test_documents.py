"""What documents have from the code is as the code says, and the tests that docs/contract.md names exist."""

import ast
import re

import pytest

from scripts.documents import PARTS, written
from tests.conftest import ROOT


@pytest.mark.parametrize("document", PARTS)
def test_a_document_is_written_anew_where_the_code_says_something_else(document: str) -> None:
    text, made = written(document)
    assert text == made, "make documents writes it anew"


def _tests(path: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_test_in_the_table_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", (ROOT / "docs" / "contract.md").read_text(encoding="utf-8"))
    assert len(named) > 100
    assert [f"{path}::{name}" for path, name in named if name not in _tests(path)] == []
