"""The real models are held to what is published of them until all of it holds, and others to what is given."""

import json
import stat
import sys
from pathlib import Path

import pytest

from client.verify import facts
from scripts.export_models import stamp
from scripts.export_models.stamp import Stamp
from scripts.local_triton.server import TritonFailedError
from scripts.run import known_answers
from scripts.run.preflight import Choice

_VALUES = {"QUARTET_FACTS": "hub", "QUARTET_URL": "http://x"}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of one model, in a folder in which 'quartet verify' answers with the number in ``status``."""
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "model_repository" / "m3_embedder" / "1"
    model.mkdir(parents=True)
    (model / "quartet.json").write_text('{"precision": "fp32"}', encoding="utf-8")
    (model / "exported.json").write_text("{}", encoding="utf-8")
    (tmp_path / "build").mkdir()
    _answer(0)
    python = tmp_path / "python"
    script = '#!/bin/sh\necho "$@" >> asked\ntest ! -e slow || exec sleep 60\n'
    script += "echo the table, of $QUARTET_FACTS\nexit $(cat status)\n"
    python.write_text(script, encoding="utf-8")
    python.chmod(stat.S_IRWXU)
    monkeypatch.setattr(sys, "executable", str(python))
    return Path("model_repository")


def _answer(status: int) -> None:
    Path("status").write_text(str(status), encoding="utf-8")


def _times_asked() -> int:
    return len(Path("asked").read_text(encoding="utf-8").splitlines()) if Path("asked").exists() else 0


@pytest.mark.parametrize(
    ("choice", "facts"),
    [
        (Choice("run"), "demo"),
        (Choice("run", models="hub"), "hub"),
        (Choice("run", models="folder", folder="x"), None),
        (Choice("run", models="hub", facts="own.json"), "own.json"),
        (Choice("run", models="folder", folder="x", facts="own.json"), "own.json"),
    ],
)
def test_the_environment_tells_which_facts_belong_to_the_models(
    choice: Choice, facts: str | None, repository: Path
) -> None:
    told = known_answers.told(choice, repository)
    assert (told.get("QUARTET_FACTS"), told["QUARTET_PRECISION"]) == (facts, "fp32")


@pytest.mark.parametrize(
    ("other", "failed", "precision"), [("fp32", "", "fp32"), ("bf16", "", None), ("bf16", "damaged", "fp32")]
)
def test_the_precision_is_told_where_the_text_models_that_are_served_have_one(
    repository: Path, other: str, failed: str, precision: str | None
) -> None:
    stamp.write(repository, "m3_reranker", Stamp(failed=failed))
    (repository / "m3_reranker" / "1" / "quartet.json").write_text(json.dumps({"precision": other}), encoding="utf-8")
    assert known_answers.told(Choice("run"), repository).get("QUARTET_PRECISION") == precision


def test_where_no_text_model_was_exported_nothing_is_told_of_a_precision(tmp_path: Path) -> None:
    assert "QUARTET_PRECISION" not in known_answers.told(Choice("run"), tmp_path)


@pytest.mark.parametrize("choice", [Choice("run"), Choice("run", models="folder", folder="x")])
def test_models_without_published_facts_are_not_asked(choice: Choice, repository: Path) -> None:
    assert known_answers.hold(choice, _VALUES, repository)
    assert _times_asked() == 0


def test_models_that_hold_are_asked_once(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert known_answers.hold(Choice("run", models="hub"), _VALUES, repository)
    assert _times_asked() == 1
    assert known_answers.TABLE.read_text(encoding="utf-8") == "the table, of hub\n"
    assert "the table, of hub" in capsys.readouterr().out


def test_tokenizers_are_looked_into_where_all_were_exported(repository: Path) -> None:
    for model in ("m3_embedder", "m3_reranker"):
        known_answers._HELD.unlink(missing_ok=True)
        (repository / model / "1").mkdir(parents=True, exist_ok=True)
        (repository / model / "1" / "tokenizer.json").touch()
        known_answers.hold(Choice("run", models="hub"), _VALUES, repository)
    first, second = Path("asked").read_text(encoding="utf-8").splitlines()
    assert ("--models" in first, "--models" in second) == (False, True)


def test_models_that_do_not_hold_are_told_and_asked_again(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _answer(1)
    for _ in range(2):
        assert not known_answers.hold(Choice("run", models="hub"), _VALUES, repository)
        assert "THE MODELS DO NOT ANSWER AS THEY SHOULD" in capsys.readouterr().err
    assert _times_asked() == 2


def test_the_product_is_watched_meanwhile_and_nobody_is_asked_on_where_it_ends(repository: Path) -> None:
    Path("slow").touch()

    def watch() -> None:
        raise TritonFailedError("Triton stopped")

    with pytest.raises(TritonFailedError):
        known_answers.hold(Choice("run", models="hub"), _VALUES, repository, watch)
    assert not known_answers.TABLE.exists()


def test_models_that_were_exported_again_are_asked_again(repository: Path) -> None:
    known_answers.hold(Choice("run", models="hub"), _VALUES, repository)
    (repository / "m3_embedder" / "1" / "exported.json").write_text('{"other": 1}', encoding="utf-8")
    known_answers.hold(Choice("run", models="hub"), _VALUES, repository)
    assert _times_asked() == 2


def test_other_facts_are_asked_for(repository: Path) -> None:
    Path("own.json").write_text("{}", encoding="utf-8")
    own, choice = {**_VALUES, "QUARTET_FACTS": "own.json"}, Choice("run", models="hub", facts="own.json")
    known_answers.hold(choice, own, repository)
    Path("own.json").write_text(json.dumps({"about": "changed"}), encoding="utf-8")
    known_answers.hold(choice, own, repository)
    assert _times_asked() == 2


def test_models_are_asked_again_when_the_products_own_facts_have_changed(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "_KNOWN", tmp_path)
    for about in ("first", "changed"):
        Path("hub.json").write_text(json.dumps({"about": about}), encoding="utf-8")
        for _ in range(2):
            known_answers.hold(Choice("run", models="hub"), _VALUES, repository)
    assert _times_asked() == 2


def test_an_export_that_needs_cuda_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["known_answers", "--models", "hub", "--precision", "fp16"])
    assert known_answers.main() == 0
    assert "CUDA" in capsys.readouterr().out


def test_an_export_of_the_demo_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["known_answers", "--models", "demo"])
    assert known_answers.main() == 0
