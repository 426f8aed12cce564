import subprocess
import sys

import pytest

from frontend.__main__ import main
from frontend.commands import verify
from frontend.commands.tables import columns
from frontend.verification.facts import NAMED, load
from frontend.verification.rows import HEAD, Row
from scripts.local_triton.checks import free_port
from tests.conftest import ROOT

_HELD, _WRONG, _MISSING = (
    Row("tokens of: a", "3", "3", "none", True),
    Row("tokens of: b", "3", "4", "none", False),
    Row("speech of ryan", "an answer", "400: unknown", "none", None),
)


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["quartet", "verify", *arguments])
    return main()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--url", "http://x", "--key", "k"], "set QUARTET_FACTS or --facts"),
        (["--facts", "demo", "--key", "k"], "set QUARTET_URL or --url"),
        (["--facts", "demo", "--url", "http://x"], "set QUARTET_API_KEY or --key"),
        (["--facts", "demo", "--url", "x:80", "--key", "k"], "begins with http:// or https://"),
        (["--facts", "gone", "--url", "http://x", "--key", "k"], "gone: No such file or directory"),
        (["--facts", "demo", "--url", "http://127.0.0.1:{port}", "--key", "k"], "Cannot connect"),
        (["--facts", "hub", "--url", "http://x", "--key", "k", "--models", "/nowhere"], "/nowhere/m3_embedder/1"),
        (["--facts", "demo", "--url", "http://x", "--key", "k", "--record", "f.json"], "set QUARTET_PRECISION"),
    ],
)
def test_what_cannot_be_asked_is_a_sentence(
    arguments: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(monkeypatch, *(each.replace("{port}", str(free_port())) for each in arguments)) == 2
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert (len(printed.err.splitlines()), printed.out) == (1, "")


@pytest.mark.parametrize(
    ("rows", "status", "last"),
    [
        ([_HELD], 0, "1 facts hold, 0 do not"),
        ([_HELD, _MISSING], 0, "1 facts hold, 0 do not, 1 are about what is not served"),
        ([_HELD, _WRONG], 1, "1 facts hold, 1 do not"),
        ([_MISSING], 1, "0 facts hold, 0 do not, 1 are about what is not served"),
    ],
    ids=["all", "some not served", "one wrong", "nothing served"],
)
def test_the_status_says_whether_all_holds(
    rows: list[Row], status: int, last: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def asked(*_: object) -> list[Row]:
        return rows

    monkeypatch.setattr(verify, "_check", asked)
    assert _run(monkeypatch, "--facts", "demo", "--url", "http://x", "--key", "k") == status
    assert last in capsys.readouterr().out.splitlines()


def test_a_tokenizer_that_is_not_the_published_ones_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from frontend.verification.checks import token_ids

    rows = token_ids(load("hub"), ROOT / "model_repository")
    assert len(rows) == 2 * len(load("hub").texts)
    assert not any(row.ok for row in rows)


def test_the_table_has_a_line_for_each_fact_and_cuts_long_texts_in_their_middle() -> None:
    head, line = columns([HEAD, Row("tokens of: " + "a" * 60 + " end", "3", "4", "none", False).cells])
    assert head.split() == ["fact", "expected", "got", "tolerance"]
    assert line.startswith("tokens of: aaaa")
    assert line.split()[-4:] == ["3", "4", "none", "FAILED"]
    assert " … " in line


def test_it_loads_nothing_of_the_server() -> None:
    code = """
import sys
sys.argv = ["quartet", "verify", "--help"]
from frontend.__main__ import main
try:
    main()
except SystemExit:
    pass
sys.exit(", ".join({"sqlalchemy", "onnxruntime", "redis", "tritonclient"} & sys.modules.keys()) or 0)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--record" in done.stdout


def test_git_and_so_the_wheel_have_the_facts() -> None:
    known = [str(ROOT / "frontend" / "verification" / "known" / f"{name}.json") for name in NAMED]
    assert len(known) == 2
    assert subprocess.run(["git", "check-ignore", *known], cwd=ROOT, check=False).returncode == 1
