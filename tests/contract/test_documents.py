"""Documents say what is so: their tables come from the code, their aliases are valid, and their tests exist."""

import ast
import re
from pathlib import Path

import pytest

from frontend.config.settings import Settings
from scripts.documents import PARTS, written
from tests.conftest import ROOT

APPS = ROOT / "lab" / "apps"


def _document(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("document", PARTS)
def test_a_document_is_what_the_code_generates(document: str) -> None:
    text, made = written(document)
    assert text == made, "make documents writes it anew"


def _tests(path: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_test_in_the_table_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", _document("contract.md"))
    assert len(named) > 100
    assert [f"{path}::{name}" for path, name in named if name not in _tests(path)] == []


def test_the_aliases_of_apps_are_valid(tmp_path: Path) -> None:
    path = tmp_path / "quartet.toml"
    (aliases,) = re.findall(r"```toml\n(\[aliases\]\n.*?)```", _document("apps.md"), re.DOTALL)
    path.write_text(aliases, encoding="utf-8")
    assert Settings.from_env({"QUARTET_CONFIG": str(path)}).aliases.models["whisper-1"] == "stt-1"


def test_the_configuration_of_the_proxy_is_the_one_that_is_run() -> None:
    assert f"```yaml\n{(APPS / 'litellm.yaml').read_text(encoding='utf-8')}```" in _document("apps.md")


def test_apps_that_were_run_are_pinned_in_the_version_of_the_document() -> None:
    pins = {pin for file in (APPS / "requirements").iterdir() for pin in file.read_text(encoding="utf-8").split()}
    run = re.findall(r"\b((?:lang|llama|haystack|jina|whisper-)[a-z-]+) (\d+(?:\.\d+)+)", _document("apps.md"))
    assert run
    assert [f"{name}=={version}" for name, version in run if f"{name}=={version}" not in pins] == []
