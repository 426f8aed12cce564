"""Documents say what is so: parts come from the code, and what they say about apps is valid."""

import re
from pathlib import Path

import pytest

from frontend.config.settings import Settings
from scripts.documents import PARTS, written
from tests.conftest import ROOT

OF_APPS = (ROOT / "docs" / "apps.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("document", PARTS)
def test_a_document_is_what_the_code_generates(document: str) -> None:
    text, made = written(document)
    assert text == made, "make documents writes it anew"


@pytest.mark.parametrize("extensions", ["", "all"])
def test_the_aliases_of_apps_are_valid(tmp_path: Path, extensions: str) -> None:
    path = tmp_path / "quartet.toml"
    (aliases,) = re.findall(r"```toml\n(\[aliases\]\n.*?)```", OF_APPS, re.DOTALL)
    path.write_text(aliases, encoding="utf-8")
    settings = Settings.from_env({"QUARTET_CONFIG": str(path), "QUARTET_EXTENSIONS": extensions})
    assert settings.aliases.models["whisper-1"] == "stt-1"
