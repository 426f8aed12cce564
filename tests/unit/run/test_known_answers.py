"""The real models are compared with published answers until all hold, and other models with given answers."""

import json
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from client.verify import facts
from scripts.export_models import stamp
from scripts.export_models.stamp import Stamp
from scripts.local_triton.server import TritonFailedError
from scripts.run import known_answers
from scripts.run.preflight import Choice

HUB = Choice("run", models="hub")
FOLDER = Choice("run", models="folder", folder="x")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of one model, in a folder where 'quartet verify' exits with the number in the file ``status``."""
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "model_repository" / "m3_embedder" / "1"
    model.mkdir(parents=True)
    (model / "quartet.json").write_text('{"precision": "fp32"}', encoding="utf-8")
    (model / "exported.json").write_text("{}", encoding="utf-8")
    (tmp_path / "build").mkdir()
    (tmp_path / "status").write_text("0", encoding="utf-8")
    python = tmp_path / "python"
    script = '#!/bin/sh\necho "$@" >> asked\ntest ! -e slow || exec sleep 60\n'
    script += "echo the table, of $QUARTET_FACTS\nexit $(cat status)\n"
    python.write_text(script, encoding="utf-8")
    python.chmod(stat.S_IRWXU)
    monkeypatch.setattr(sys, "executable", str(python))
    return Path("model_repository")


def _commands() -> list[str]:
    """The commands that were started."""
    return Path("asked").read_text(encoding="utf-8").splitlines() if Path("asked").exists() else []


def _verify(
    repository: Path, choice: Choice = HUB, name: str = "hub", watch: Callable[[], None] = lambda: None
) -> bool:
    values = {"QUARTET_FACTS": name, "QUARTET_URL": "http://x"}
    return known_answers.verify(choice, values, repository, watch)


@pytest.mark.parametrize(
    ("choice", "facts"),
    [
        (Choice("run"), "demo"),
        (HUB, "hub"),
        (FOLDER, None),
        (Choice("run", models="hub", facts="own.json"), "own.json"),
        (Choice("run", models="folder", folder="x", facts="own.json"), "own.json"),
    ],
)
def test_the_variables_name_the_facts_of_the_models(choice: Choice, facts: str | None, repository: Path) -> None:
    variables = known_answers.variables(choice, repository)
    assert (variables.get("QUARTET_FACTS"), variables["QUARTET_PRECISION"]) == (facts, "fp32")


@pytest.mark.parametrize(
    ("other", "failed", "precision"), [("fp32", "", "fp32"), ("bf16", "", None), ("bf16", "damaged", "fp32")]
)
def test_the_variables_name_the_precision_if_the_exported_text_models_share_one(
    repository: Path, other: str, failed: str, precision: str | None
) -> None:
    stamp.write(repository, "m3_reranker", Stamp(failed=failed))
    (repository / "m3_reranker" / "1" / "quartet.json").write_text(json.dumps({"precision": other}), encoding="utf-8")
    assert known_answers.variables(Choice("run"), repository).get("QUARTET_PRECISION") == precision


def test_the_variables_name_no_precision_without_an_exported_text_model(tmp_path: Path) -> None:
    assert "QUARTET_PRECISION" not in known_answers.variables(Choice("run"), tmp_path)


@pytest.mark.parametrize("choice", [Choice("run"), FOLDER])
def test_models_without_published_answers_are_not_verified(choice: Choice, repository: Path) -> None:
    assert _verify(repository, choice)
    assert _commands() == []


def test_correct_models_are_verified_once(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [_verify(repository) for _ in range(2)] == [True, True]
    assert len(_commands()) == 1
    assert known_answers.TABLE.read_text(encoding="utf-8") == "the table, of hub\n"
    assert "the table, of hub" in capsys.readouterr().out


def test_wrong_models_are_reported_and_verified_again(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("status").write_text("1", encoding="utf-8")
    for _ in range(2):
        assert not _verify(repository)
        assert "THE MODELS DO NOT ANSWER AS THEY SHOULD" in capsys.readouterr().err
    assert len(_commands()) == 2


def test_tokenizers_are_verified_if_both_text_models_are_exported(repository: Path) -> None:
    for model in ("m3_embedder", "m3_reranker"):
        known_answers._VERIFIED.unlink(missing_ok=True)
        (repository / model / "1").mkdir(parents=True, exist_ok=True)
        (repository / model / "1" / "tokenizer.json").touch()
        _verify(repository)
    assert ["--models" in command for command in _commands()] == [False, True]


def test_an_exception_of_the_watch_ends_the_check(repository: Path) -> None:
    Path("slow").touch()

    def watch() -> None:
        raise TritonFailedError("Triton stopped")

    with pytest.raises(TritonFailedError):
        _verify(repository, watch=watch)
    assert not known_answers.TABLE.exists()


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("hub", "model_repository/m3_embedder/1/exported.json"),
        ("own.json", "own.json"),
        ("hub", "hub.json"),
    ],
    ids=["another export", "other given facts", "other facts of the product"],
)
def test_models_are_verified_again_after_a_change(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, changed: str
) -> None:
    monkeypatch.setattr(facts, "_KNOWN", tmp_path)
    choice = Choice("run", models="hub", facts="" if name == "hub" else name)
    for about in ("first", "changed"):
        Path(changed).write_text(json.dumps({"about": about}), encoding="utf-8")
        for _ in range(2):
            _verify(repository, choice, name)
    assert len(_commands()) == 2


@pytest.mark.parametrize(
    ("options", "printed"), [("--models hub --precision fp16", known_answers._ON_CUDA), ("--models demo", "")]
)
def test_an_export_that_cannot_be_verified_here_is_not(
    options: str, printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["known_answers", *options.split()])
    assert known_answers.main() == 0
    assert capsys.readouterr().out.strip() == printed
