"""The table ``[models]`` of the settings file, and the models of a repository."""

import json
from pathlib import Path
from typing import Any

import pytest

from frontend.catalogue.added_models import added_in, added_models, describe
from frontend.catalogue.models import EMBEDDINGS, RERANK, TRANSCRIPTIONS, Model, Served

E5 = {"operation": "embeddings", "checkpoint": "/models/e5"}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_a_model_has_what_its_table_says() -> None:
    table = {**E5, "price": "0.1", "query_prefix": "query: ", "document_prefix": "passage: ", "pooling": "mean"}
    (added,) = added_models({"embed-e5": table})
    assert (added.triton_model, added.precision, added.pooling, added.is_of_hub) == (
        "added_embed-e5",
        "auto",
        "mean",
        False,
    )
    model = added.model(max_tokens=512, width=384)
    assert (model.id, model.operation, model.micro_chf) == ("embed-e5", EMBEDDINGS, 100_000)
    assert (model.query_prefix, model.document_prefix, model.max_tokens, model.width) == (
        "query: ",
        "passage: ",
        512,
        384,
    )


@pytest.mark.parametrize(
    ("operation", "more"),
    [
        (RERANK, {"max_tokens": 512, "scores": "raw"}),
        (TRANSCRIPTIONS, {"beam_size": 5}),
        (EMBEDDINGS, {"precision": "bf16"}),
    ],
)
def test_each_operation_has_keys_of_its_own(operation: str, more: dict[str, Any]) -> None:
    (added,) = added_models({"own": {"operation": operation, "checkpoint": "./own", **more}})
    assert {name: getattr(added, name) for name in more} == more


def test_a_checkpoint_of_the_hub_has_a_commit() -> None:
    (added,) = added_models({"own": {**E5, "checkpoint": f"intfloat/multilingual-e5-small@{COMMIT}"}})
    assert added.is_of_hub


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("embed-m3", {}, "embed-m3: there is a model embed-m3 already"),
        ("Chat", {}, "Chat: there is a model chat already"),
        ("all", {}, "all: there is a model all already"),
        ("a b", {}, "a b: a model's name has"),
        ("-e5", {}, "-e5: a model's name has"),
        ("e5", {"operation": "speech"}, "e5: operation must be one of .*, not 'speech'; voices stand in"),
        ("e5", {"operation": ""}, "e5: operation must be one of"),
        ("e5", {"checkpoint": "intfloat/e5@main"}, "e5: checkpoint must be a path .* not 'intfloat/e5@main'"),
        ("e5", {"checkpoint": ""}, "e5: checkpoint must be"),
        ("e5", {"precision": "int4"}, "e5: precision must be one of"),
        ("e5", {"pooling": "max"}, "e5: pooling must be one of cls, mean, not 'max'"),
        ("e5", {"max_tokens": 0}, "e5: max_tokens must be a whole number from 16, not 0"),
        ("e5", {"max_tokens": 15}, "e5: max_tokens must be a whole number from 16, not 15"),
        ("e5", {"max_tokens": True}, "e5: max_tokens must be a whole number from 16, not True"),
        ("e5", {"query_prefix": 3}, "e5: query_prefix must be a text, not 3"),
        ("e5", {"scores": "raw"}, "e5: scores is for rerank"),
        ("e5", {"operation": "rerank", "scores": "logits"}, "e5: scores must be one of sigmoid, raw, not 'logits'"),
        ("e5", {"beam_size": 5}, "e5: beam_size is for transcriptions"),
        ("e5", {"beam_size": 10}, "e5: beam_size must be a whole number from 1 to 9, not 10"),
        ("e5", {"operation": "rerank", "query_prefix": "q"}, "e5: query_prefix is for embeddings"),
        ("e5", {"price": "-1"}, "e5: price: '-1' is not an amount in CHF"),
        ("e5", {"price": [1]}, "e5: price: "),
        ("e5", {"name": "x"}, "e5: there is no 'name'"),
        ("e5", {"tokenizer": "x"}, "e5: there is no 'tokenizer'; there are operation, checkpoint"),
    ],
)
def test_what_cannot_be_is_one_sentence(name: str, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{reason}"):
        added_models({name: {**E5, **changes}})


@pytest.mark.parametrize("missing", ["operation", "checkpoint"])
def test_every_model_names_its_operation_and_its_checkpoint(missing: str) -> None:
    with pytest.raises(ValueError, match=f"^e5: {missing} is missing"):
        added_models({"e5": {key: value for key, value in E5.items() if key != missing}})


def test_a_table_is_asked_for() -> None:
    with pytest.raises(ValueError, match="^e5: must be a table"):
        added_models({"e5": "/models/e5"})


def test_names_that_differ_in_case_are_the_same() -> None:
    with pytest.raises(ValueError, match="^E5: there is a model e5 already"):
        added_models({"e5": E5, "E5": E5})


def _write(repository: Path, model: Model, **stamp: Any) -> None:
    folder = repository / model.triton_model / "1"
    folder.mkdir(parents=True)
    describe(folder, model)
    (folder / "exported.json").write_text(json.dumps({"way": "fp32", **stamp}), encoding="utf-8")


def test_a_repository_has_the_models_that_were_exported(tmp_path: Path) -> None:
    model = Model("embed-e5", EMBEDDINGS, 5, "added_embed-e5", max_tokens=512, width=384, query_prefix="query: ")
    english = Model("small.en", TRANSCRIPTIONS, 0, "added_small.en", languages=("en",))
    _write(tmp_path, model)
    _write(tmp_path, english)
    _write(tmp_path, Model("bad", RERANK, 0, "added_bad"), failed="no weights")
    (tmp_path / "added_broken" / "1").mkdir(parents=True)
    (tmp_path / "added_broken" / "1" / "model.json").write_text("{", encoding="utf-8")
    assert added_in(tmp_path).models == (model, english)


def test_added_models_are_served_after_those_of_the_catalogue_and_can_be_chosen(tmp_path: Path) -> None:
    _write(tmp_path, Model("embed-e5", EMBEDDINGS, 5, "added_embed-e5", max_tokens=512, width=384))
    added = added_in(tmp_path)
    assert Served.of(added=added).ids(EMBEDDINGS) == ("embed-m3", "embed-e5")
    assert Served.of("embed-e5", added=added).triton_models == ("added_embed-e5",)
    assert Served.of().ids(EMBEDDINGS) == ("embed-m3",)
