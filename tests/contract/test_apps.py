"""docs/apps.md says what is so: its aliases are taken, and its versions are those that were run."""

import re
from pathlib import Path

from frontend.config.settings import Settings
from tests.conftest import ROOT

DOCUMENT = (ROOT / "docs" / "apps.md").read_text(encoding="utf-8")
APPS = ROOT / "lab" / "apps"


def test_its_aliases_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "quartet.toml"
    (aliases,) = re.findall(r"```toml\n(\[aliases\]\n.*?)```", DOCUMENT, re.DOTALL)
    path.write_text(aliases, encoding="utf-8")
    assert Settings.from_env({"QUARTET_CONFIG": str(path)}).aliases.models["whisper-1"] == "stt-1"


def test_what_it_says_was_run_is_pinned_in_that_version() -> None:
    pins = {pin for file in (APPS / "requirements").iterdir() for pin in file.read_text(encoding="utf-8").split()}
    run = re.findall(r"\b((?:lang|llama|haystack|jina|whisper-)[a-z-]+) (\d+(?:\.\d+)+)", DOCUMENT)
    assert run
    assert [f"{name}=={version}" for name, version in run if f"{name}=={version}" not in pins] == []
