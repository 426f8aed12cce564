"""The worked paths of docs/development.md lead where they say, and a part that is left out is noticed."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

_TEXT = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")
PATHS = {text.partition("\n")[0]: text for text in re.split(r"^### ", _TEXT, flags=re.MULTILINE)[1:]}
_COPIED = ("frontend", "client", "scripts", "docs", "model_repository")
_LEFT = shutil.ignore_patterns("__pycache__", "*.onnx", "*.safetensors", "*.bin", "whisper", "*.js", "*.png")


def _blocks(path: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PATHS[path], re.MULTILINE | re.DOTALL)


CASES = [(path, out) for path in PATHS for out in (None, *range(len(_blocks(path, "diff"))))]


def test_every_path_is_there() -> None:
    assert [path.split()[-1] for path in PATHS] == ["voice", "model", "endpoint", "answers", "price", "key"]


@pytest.mark.parametrize(("path", "left_out"), CASES)
def test_a_path_leads_where_it_says_and_no_part_can_be_left_out(
    tmp_path: Path, path: str, left_out: int | None
) -> None:
    for name in _COPIED:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=_LEFT, symlinks=True)
    changes = [change for place, change in enumerate(_blocks(path, "diff")) if place != left_out]
    for change in changes:
        subprocess.run(["git", "apply", "--recount", "-"], cwd=tmp_path, input=change, text=True, check=True)
    for command in _blocks(path, "sh"):
        subprocess.run(["bash", "-ec", command], cwd=tmp_path, check=True)
    (check,) = _blocks(path, "python")
    ran = subprocess.run([sys.executable, "-c", check], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode == 0) == (left_out is None), ran.stderr
