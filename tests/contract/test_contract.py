"""docs/contract.md names tests that exist, and docs/configuration.md every setting."""

import ast
import dataclasses
import re

from frontend.config.settings import Settings
from tests.conftest import ROOT


def _tests(path: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_test_in_the_table_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", (ROOT / "docs" / "contract.md").read_text(encoding="utf-8"))
    assert len(named) > 100
    assert [f"{path}::{name}" for path, name in named if name not in _tests(path)] == []


def test_every_setting_is_documented_with_its_default() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    for item in dataclasses.fields(Settings):
        if item.metadata:
            default = "(empty)" if item.default == "" else item.default
            assert f"| `QUARTET_{item.name.upper()}` | `{default}` | {item.metadata['help']} |" in text
