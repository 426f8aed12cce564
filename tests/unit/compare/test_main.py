"""The whole command, on look-alikes of both models."""

import shutil
from pathlib import Path
from subprocess import CalledProcessError

import numpy as np
import pytest
from transformers import AutoModel, AutoModelForSequenceClassification

from frontend.text.tokens import Ids, TextTokenizer
from scripts.compare import __main__ as command
from scripts.compare import comparison
from scripts.compare.sides import Models
from scripts.export_models import text_graph
from scripts.export_models.text import write
from tests import lookalikes

LINES = [
    "Grüezi mitenand",
    "good morning everybody",
    "good morning anna",
    "the bread is on the table",
    "a cat on a mat",
]


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both models in fp32, and again with weights that are a little off in the place of int8."""
    work = tmp_path_factory.mktemp("work")
    embedder, reranker = work / "embedder", work / "reranker"
    lookalikes.text_model(embedder, reranker=False)
    lookalikes.text_model(reranker, reranker=True)
    rng = np.random.default_rng(1)
    for precision, noise in (("fp32", 0.0), ("int8", 1e-3)):
        for name, source, kind in (
            ("m3_embedder", embedder, AutoModel),
            ("m3_reranker", reranker, AutoModelForSequenceClassification),
        ):
            trained = text_graph.trained(kind.from_pretrained(source).eval())
            for weight in trained.weights.values():
                weight += rng.normal(0, noise, weight.shape).astype(np.float32)
            graph = (
                text_graph.embedder(trained, "fp32", "cls", 1024)
                if kind is AutoModel
                else text_graph.reranker(trained, "fp32")
            )
            target = work / precision / name / "1"
            write(graph, "fp32", target, max_tokens=8192)
            shutil.copy(source / "tokenizer.json", target)
    return work


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(LINES), encoding="utf-8")
    return path


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The precisions that are exported, which are there already."""
    done: list[str] = []
    monkeypatch.setattr(Models, "export", lambda _, precision: done.append(precision))
    return done


def test_both_precisions_are_compared_on_the_texts(
    exports: Path, texts: Path, exported: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--texts", str(texts), "--work", str(exports), "--threads", "1"]) == 0
    shown = capsys.readouterr()
    assert exported == ["fp32", "int8"]
    titles = [line for line in shown.out.splitlines() if line and not line.startswith(" ")]
    assert titles[:2] == ["m3_embedder", "m3_reranker"]
    assert "4 nearest neighbours kept" in shown.out
    assert "PRECISION=" in titles[2]
    assert shown.err.startswith(f"{texts}: 5 different texts, 5 are compared\n")
    assert "comparing 0/4 models, m3_embedder in fp32: computing 0%" in shown.err


def test_given_queries_are_compared_on_the_texts(
    exports: Path, texts: Path, exported: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = tmp_path / "queries.jsonl"
    queries.write_text("\n".join(f'{{"text": "{word}"}}' for word in ("bread", "cat", "anna")), encoding="utf-8")
    options = ["--texts", str(texts), "--queries", str(queries), "--work", str(exports), "--threads", "1"]
    assert command.main(options) == 0
    shown = capsys.readouterr()
    assert "5 nearest neighbours kept" in shown.out
    worst = next(line for line in shown.out.splitlines() if "the query whose scores change most" in line)
    assert worst.split()[-1] in ("bread", "cat", "anna")


def test_some_of_many_queries_rank_their_own_neighbours(
    exports: Path, texts: Path, exported: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def pairs(tokenizer: TextTokenizer, query: str, documents: list[str]) -> list[Ids]:
        asked.append((query, documents))
        return tokenizer.texts(documents)

    monkeypatch.setattr(TextTokenizer, "pairs", pairs)
    monkeypatch.setattr(comparison, "_QUERIES", 2)
    monkeypatch.setattr(comparison, "_NEIGHBOURS", 2)
    (tmp_path / "queries.txt").write_text("\n".join([LINES[0], LINES[1], LINES[4]]), encoding="utf-8")
    options = ["--queries", str(tmp_path / "queries.txt"), "--work", str(exports), "--threads", "1"]
    assert command.main(["--texts", str(texts), *options]) == 0
    # The nearest to each is itself.
    assert [(query, documents[0]) for query, documents in asked] == [(LINES[0], LINES[0]), (LINES[4], LINES[4])]


def test_too_few_texts_are_refused_before_anything_is_exported(
    tmp_path: Path, exported: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "two.txt").write_text("one\ntwo\none", encoding="utf-8")
    assert command.main(["--texts", str(tmp_path / "two.txt")]) == 2
    sentence = "two.txt has 2 different texts, and a comparison needs 3\n"
    assert capsys.readouterr().err.endswith(sentence)
    assert exported == []


@pytest.mark.parametrize(("raised", "status"), [(CalledProcessError(2, "export"), 2), (KeyboardInterrupt(), 130)])
def test_a_failed_export_ends_the_command(
    texts: Path, monkeypatch: pytest.MonkeyPatch, raised: BaseException, status: int
) -> None:
    def fail(_: Models, precision: str) -> None:
        raise raised

    monkeypatch.setattr(Models, "export", fail)
    assert command.main(["--texts", str(texts)]) == status


def test_more_texts_than_wanted_are_sampled(
    exports: Path, texts: Path, exported: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command.main(["--texts", str(texts), "--most", "3", "--work", str(exports), "--threads", "1"])
    shown = capsys.readouterr()
    assert "5 different texts, 3 are compared" in shown.err
    assert "2 nearest neighbours kept" in shown.out


def test_fewer_texts_than_can_be_compared_are_no_bound(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--texts", str(texts), "--most", "2"])
    assert "'2': must be 3 or more" in capsys.readouterr().err
