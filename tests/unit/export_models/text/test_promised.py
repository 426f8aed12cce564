"""A text checkpoint must have the width and length of the catalogue."""

import json
from pathlib import Path

import pytest

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.text.promised import check_promise, usable_positions

M3 = {"model_type": "xlm-roberta", "hidden_size": 1024, "max_position_embeddings": 8194}


def _folder(folder: Path, *, stands_in: bool = False, **changed: int) -> Path:
    (folder / "config.json").write_text(json.dumps(M3 | changed), encoding="utf-8")
    if stands_in:
        (folder / "quartet.json").write_text('{"stands_in": true}', encoding="utf-8")
    return folder


@pytest.mark.parametrize("model", ["m3_embedder", "m3_reranker"])
def test_m3_passes(tmp_path: Path, model: str) -> None:
    check_promise(model, _folder(tmp_path))


@pytest.mark.parametrize("width", [384, 768, 2048])
def test_an_embedder_of_another_width_is_refused(tmp_path: Path, width: int) -> None:
    with pytest.raises(SourceError) as caught:
        check_promise("m3_embedder", _folder(tmp_path, hidden_size=width))
    assert str(caught.value) == f"{tmp_path} gives vectors of {width} numbers, and m3_embedder promises 1024"


def test_a_stand_in_that_is_wider_than_promised_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="gives vectors of 2048 numbers"):
        check_promise("m3_embedder", _folder(tmp_path, stands_in=True, hidden_size=2048))


def test_a_reranker_may_have_any_width(tmp_path: Path) -> None:
    check_promise("m3_reranker", _folder(tmp_path, hidden_size=768))


@pytest.mark.parametrize("model", ["m3_embedder", "m3_reranker"])
@pytest.mark.parametrize("positions", [514, 8193])
def test_a_model_of_fewer_positions_is_refused(tmp_path: Path, model: str, positions: int) -> None:
    with pytest.raises(SourceError) as caught:
        check_promise(model, _folder(tmp_path, max_position_embeddings=positions))
    assert str(caught.value) == f"{tmp_path} has {positions - 2} positions, and {model} takes texts of 8192 tokens"


@pytest.mark.parametrize("model", ["m3_embedder", "m3_reranker"])
def test_a_stand_in_may_be_narrower_and_shorter(tmp_path: Path, model: str) -> None:
    check_promise(model, _folder(tmp_path, stands_in=True, hidden_size=384, max_position_embeddings=512))


def test_berts_positions_begin_with_the_first(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert", "max_position_embeddings": 512}', encoding="utf-8")
    assert usable_positions(tmp_path) == 512
