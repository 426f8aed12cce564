import subprocess
import sys
import tomllib
from collections.abc import Sequence

import pytest

from frontend.__main__ import main
from tests.conftest import ROOT


def _run(monkeypatch: pytest.MonkeyPatch, arguments: Sequence[str]) -> int:
    monkeypatch.setattr(sys, "argv", ["quartet", "bulk", *arguments])
    return main()


@pytest.mark.parametrize(
    ("arguments", "key", "sentence"),
    [
        (["embed", "in.jsonl", "--output", "o.jsonl", "--url", "http://x"], "", "QUARTET_API_KEY"),
        (["embed", "in.jsonl", "--output", "o.jsonl"], "qk", "QUARTET_URL or --url"),
        (["embed", "in.jsonl", "--output", "o.jsonl", "--url", "x:80"], "qk", "begins with http:// or https://"),
        (["speak", "in.jsonl", "--output", "o", "--url", "http://x"], "qk", "speech needs --voice or --language"),
        (["embed", "gone", "--output", "o.jsonl", "--url", "http://x"], "qk", "there is no such file or folder"),
        (["embed", ".", "--output", "o.jsonl", "--url", "http://x", "--ray", "local"], "qk", "quartet[bulk]"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(
    arguments: list[str],
    key: str,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("QUARTET_API_KEY", key)
    # Ray is not what the suite installs.
    monkeypatch.setitem(sys.modules, "ray", None)
    assert _run(monkeypatch, arguments) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert len(said.splitlines()) == 1


def test_bulk_work_loads_nothing_of_the_server() -> None:
    code = """
import sys
sys.argv = ["quartet", "bulk", "--help"]
from frontend.__main__ import main
try:
    main()
except SystemExit:
    pass
sys.exit(", ".join({"sqlalchemy", "onnxruntime", "redis", "pyarrow", "ray"} & sys.modules.keys()) or 0)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "transcribe" in done.stdout


def test_the_extra_is_what_the_requirements_say() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = (ROOT / "frontend" / "bulk" / "requirements.txt").read_text().split()
    assert project["optional-dependencies"]["bulk"] == pins
