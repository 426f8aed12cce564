"""The table and the exit status of facts that hold and that do not."""

import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from client.__main__ import main
from client.tests.conftest import ROOT
from client.verify import command
from client.verify.checks import token_ids
from client.verify.facts import NAMED, load
from client.verify.rows import Row

_RIGHT, _WRONG, _MISSING = (
    Row("tokens of: a", "3", "3", "none", True),
    Row("tokens of: " + "b" * 60 + " end", "3", "4", "none", False),
    Row("speech of ryan", "an answer", "400: unknown", "none", None),
)


@pytest.mark.parametrize(
    ("rows", "status", "last"),
    [
        ([_RIGHT], 0, "1 facts hold, 0 do not"),
        ([_RIGHT, _MISSING], 0, "1 facts hold, 0 do not, 1 are about what is not served"),
        ([_RIGHT, _WRONG], 1, "1 facts hold, 1 do not"),
        ([_MISSING], 1, "0 facts hold, 0 do not, 1 are about what is not served"),
    ],
    ids=["all", "some not served", "one wrong", "nothing served"],
)
def test_the_table_has_a_line_for_each_fact_and_the_status_says_whether_all_holds(
    rows: list[Row], status: int, last: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def asked(*_: object) -> list[Row]:
        return rows

    monkeypatch.setattr(command, "_check", asked)
    monkeypatch.setattr(sys, "argv", ["quartet", "verify", "--facts", "demo", "--url", "http://x", "--key", "k"])
    assert main() == status
    head, *lines, empty, end = capsys.readouterr().out.splitlines()[2:]
    assert (head.split(), empty, end) == (["fact", "expected", "got", "tolerance"], "", last)
    verdicts = {True: "ok", False: "FAILED", None: "served"}
    assert [line.split()[-1] for line in lines] == [verdicts[row.ok] for row in rows]


@pytest.mark.parametrize(("length", "shown"), [(44, "x" * 44), (45, "x" * 20 + " … " + "x" * 21)])
def test_a_long_fact_is_cut_in_its_middle_to_the_width_of_its_column(length: int, shown: str) -> None:
    assert Row("x" * length, "", "", "", True).cells[0] == shown


def test_a_fact_stands_on_one_line() -> None:
    assert Row("one\n  two", "", "", "", True).cells[0] == "one two"


def test_the_demos_tokenizer_gives_the_published_token_ids_of_m3() -> None:
    rows = token_ids(load("hub"), ROOT / "model_repository")
    assert len(rows) == 2 * len(load("hub").texts)
    assert all(row.ok for row in rows)


def test_token_ids_of_another_tokenizer_fail(tmp_path: Path) -> None:
    for model in ("m3_embedder", "m3_reranker"):
        folder = tmp_path / model / "1"
        folder.mkdir(parents=True)
        Tokenizer(WordLevel({"?": 0}, unk_token="?")).save(str(folder / "tokenizer.json"))
        (folder / "quartet.json").write_text('{"max_tokens": 8192}', encoding="utf-8")
    assert not any(row.ok for row in token_ids(load("hub"), tmp_path))


def test_git_has_the_facts_so_the_wheel_has_them() -> None:
    known = [str(ROOT / "client" / "verify" / "known" / f"{name}.json") for name in NAMED]
    assert len(known) == 2
    assert subprocess.run(["git", "check-ignore", *known], cwd=ROOT, check=False).returncode == 1
