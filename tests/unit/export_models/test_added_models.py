"""What the settings file says of a model becomes a checkpoint and a folder of the model repository."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig

from frontend.catalogue.added_models import AddedModel, added_in, describe
from frontend.catalogue.models import EMBEDDINGS, RERANK, TRANSCRIPTIONS, Model
from scripts.export_models.added_models import (
    added_of,
    checkpoint_of,
    is_prepared,
    prepare,
    promise_again,
    promise_of,
)
from scripts.export_models.checkpoints import SourceError
from tests.conftest import ROOT

E5 = AddedModel("embed-e5", EMBEDDINGS, "./e5")
BERT = {"model_type": "bert", "hidden_size": 384, "max_position_embeddings": 512}


def _settings(folder: Path, text: str) -> dict[str, str]:
    path = folder / "quartet.toml"
    path.write_text(text, encoding="utf-8")
    return {"QUARTET_CONFIG": str(path)}


def test_without_a_settings_file_or_its_table_nothing_is_added(tmp_path: Path) -> None:
    assert added_of({}) == ()
    assert added_of(_settings(tmp_path, 'models = "stt-1"')) == ()


def test_a_table_that_cannot_be_is_a_sentence_with_the_file(tmp_path: Path) -> None:
    environ = _settings(tmp_path, "[models.e5]\noperation = 'embeddings'")
    with pytest.raises(SourceError, match=r"quartet\.toml: models: e5: checkpoint is missing"):
        added_of(environ)


@pytest.mark.parametrize(("price", "micro"), [("0.00001", 10), ("0.1", 100_000), ("'0.000001'", 1), ("2", 2_000_000)])
def test_a_price_is_read_as_it_is_written(tmp_path: Path, price: str, micro: int) -> None:
    entry = f"[models.e5]\noperation = 'embeddings'\ncheckpoint = './e5'\nprice = {price}"
    (added,) = added_of(_settings(tmp_path, entry))
    assert added.model().micro_chf == micro


def test_a_folder_is_relative_to_the_settings_file(tmp_path: Path) -> None:
    environ = _settings(tmp_path, "[models.e5]\noperation = 'embeddings'\ncheckpoint = '../e5'")
    (added,) = added_of(environ)
    found = checkpoint_of(added, environ)
    assert (found.repository, found.revision, found.kind, found.own) == (str(tmp_path.parent / "e5"), "", "text", True)


def test_a_checkpoint_of_the_hub_has_its_commit() -> None:
    found = checkpoint_of(AddedModel("small", TRANSCRIPTIONS, f"openai/whisper-small@{'a' * 40}"), {})
    assert (found.repository, found.revision, found.kind) == ("openai/whisper-small", "a" * 40, "whisper")


def _checkpoint(folder: Path, **files: Any) -> Path:
    for name, content in {"config": BERT, **files}.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("files", "added", "found"),
    [
        ({}, E5, (512, 384)),
        ({"sentence_bert_config": {"max_seq_length": 128}}, E5, (128, 384)),
        ({"sentence_bert_config": {"max_seq_length": None}}, E5, (512, 384)),
        ({}, replace(E5, max_tokens=256), (256, 384)),
        ({"config": {"model_type": "distilbert", "dim": 768, "max_position_embeddings": 512}}, E5, (512, 768)),
        ({}, replace(E5, operation=RERANK), (512, 0)),
    ],
)
def test_the_longest_text_and_the_width_are_the_checkpoints(
    tmp_path: Path, files: dict[str, Any], added: AddedModel, found: tuple[int, int]
) -> None:
    promise = promise_of(added, _checkpoint(tmp_path, **files))
    assert (promise.max_tokens, promise.width) == found


def test_more_tokens_than_positions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="has 512 positions, fewer than max_tokens says"):
        promise_of(replace(E5, max_tokens=513), _checkpoint(tmp_path))


@pytest.mark.parametrize("most", [-5, 0, 15, "many", 1e999])
def test_texts_too_short_for_their_special_tokens_are_refused(tmp_path: Path, most: object) -> None:
    with pytest.raises(SourceError, match="takes no texts of 16 tokens"):
        promise_of(E5, _checkpoint(tmp_path, sentence_bert_config={"max_seq_length": most}))


@pytest.mark.parametrize("modules", [[{"name": "0"}], {"type": "Pooling"}, 5])
def test_modules_that_are_no_list_of_layers_are_one_sentence(tmp_path: Path, modules: object) -> None:
    with pytest.raises(SourceError, match=r"modules\.json is no list of layers"):
        promise_of(E5, _checkpoint(tmp_path, modules=modules))


def test_a_layer_after_the_pooling_is_refused(tmp_path: Path) -> None:
    kinds = [{"type": f"sentence_transformers.models.{name}"} for name in ("Transformer", "Pooling", "Dense")]
    with pytest.raises(SourceError, match=r"modules\.json has a layer that is not exported: Dense"):
        promise_of(E5, _checkpoint(tmp_path, modules=kinds))
    assert promise_of(E5, _checkpoint(tmp_path, modules=kinds[:2])).width == 384


@pytest.mark.parametrize(("size", "languages"), [(51_864, ("en",)), (51_865, ())])
def test_a_whisper_of_english_alone_is_known_by_its_files_and_by_its_export(
    tmp_path: Path, size: int, languages: tuple[str, ...]
) -> None:
    added = AddedModel("small", TRANSCRIPTIONS, "./small")
    found = promise_of(added, _checkpoint(tmp_path, config={"vocab_size": size}, generation_config={"bos_token_id": 1}))
    assert found.languages == languages
    folder = tmp_path / "added_small" / "1"
    folder.mkdir(parents=True)
    describe(folder, found)
    assert promise_again(tmp_path, added) == found


@pytest.mark.parametrize(("name", "end"), [("vocabulary.json", "\n"), ("vocabulary.txt", ""), ("vocabulary.txt", "\n")])
@pytest.mark.parametrize(("tokens", "languages"), [(["a", "", "<|endoftext|>"], ()), (["a", "<|endoftext|>"], ("en",))])
def test_a_whisper_of_ctranslate2_is_known_by_its_vocabulary(
    tmp_path: Path, name: str, end: str, tokens: list[str], languages: tuple[str, ...]
) -> None:
    (tmp_path / "model.bin").touch()
    text = json.dumps(tokens) if name.endswith("json") else "\n".join(tokens)
    (tmp_path / name).write_text(text + end, encoding="utf-8")
    assert promise_of(AddedModel("small", TRANSCRIPTIONS, "./small"), tmp_path).languages == languages


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The code of the contract's models."""
    for model in ("m3_embedder", "whisper_turbo"):
        (tmp_path / model).mkdir()
        (tmp_path / model / "1").symlink_to(ROOT / "model_repository" / model / "1")
        for name in ("config.pbtxt", "configs"):
            (tmp_path / model / name).symlink_to(ROOT / "model_repository" / model / name)
    return tmp_path


PROMISE = Model("embed-e5", EMBEDDINGS, 0, "added_embed-e5", max_tokens=512, width=384)


def test_a_folder_has_the_code_and_the_configurations_of_the_model_it_is_like(repository: Path) -> None:
    prepare(repository, E5, PROMISE)
    folder = repository / "added_embed-e5"
    assert (folder / "1" / "model.py").samefile(ROOT / "model_repository/m3_embedder/1/model.py")
    for name in ("config.pbtxt", "configs/gpu.pbtxt"):
        text = (folder / name).read_text(encoding="utf-8")
        assert 'name: "added_embed-e5"' in text
        assert "dims: [ -1, 384 ]" in text
    assert added_in(repository).models == (PROMISE,)


def test_an_added_embedder_gives_vectors_and_weights_of_tokens(repository: Path) -> None:
    prepare(repository, E5, PROMISE)
    text = (repository / "added_embed-e5" / "config.pbtxt").read_text(encoding="utf-8")
    outputs = text_format.Parse(text, ModelConfig()).output
    assert [(each.name, list(each.dims)) for each in outputs] == [("embedding", [-1, 384]), ("token_weights", [-1])]


def test_a_whisper_searches_with_the_beams_that_its_entry_says(repository: Path) -> None:
    added = AddedModel("small", TRANSCRIPTIONS, "./small", beam_size=7)
    prepare(repository, added, added.model())
    text = (repository / "added_small" / "config.pbtxt").read_text(encoding="utf-8")
    assert 'parameters { key: "beam_size" value { string_value: "7" } }' in text


def test_a_whisper_without_beams_in_its_entry_searches_as_the_contracts(repository: Path) -> None:
    added = AddedModel("small", TRANSCRIPTIONS, "./small", beam_size=7)
    prepare(repository, added, added.model())
    assert is_prepared(repository, added)
    usual = replace(added, beam_size=0)
    assert not is_prepared(repository, usual)
    prepare(repository, usual, usual.model())
    own, like = (repository / name / "config.pbtxt" for name in ("added_small", "whisper_turbo"))
    assert own.read_text(encoding="utf-8").replace("added_small", "whisper_turbo") == like.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "is_same"),
    [({}, True), ({"checkpoint": "./moved"}, True), ({"price": "2"}, False), ({"query_prefix": "q: "}, False)],
)
def test_an_entry_that_says_something_else_is_noticed_without_its_checkpoint(
    repository: Path, changes: dict[str, Any], *, is_same: bool
) -> None:
    prepare(repository, E5, PROMISE)
    changed = replace(E5, **changes)
    assert is_prepared(repository, changed) is is_same
    again = promise_again(repository, changed)
    assert again is not None
    assert (again.max_tokens, again.width) == (512, 384)
    prepare(repository, changed, again)
    assert is_prepared(repository, changed)


def test_more_dimensions_than_an_export_has_are_refused(repository: Path) -> None:
    assert promise_again(repository, E5) is None
    prepare(repository, E5, PROMISE)
    with pytest.raises(SourceError, match="vectors of 384 numbers, fewer than one of its dimensions"):
        promise_again(repository, replace(E5, dimensions=(64, 512)))


def test_links_to_code_that_there_is_no_longer_go(repository: Path) -> None:
    prepare(repository, E5, PROMISE)
    (repository / "added_embed-e5" / "1" / "old.py").symlink_to("../../m3_embedder/1/old.py")
    prepare(repository, E5, PROMISE)
    links = sorted(path.name for path in (repository / "added_embed-e5" / "1").glob("*.py"))
    assert links == sorted(path.name for path in (ROOT / "model_repository/m3_embedder/1").glob("*.py"))


def test_a_configuration_that_an_operator_has_changed_stays(repository: Path) -> None:
    prepare(repository, E5, PROMISE)
    config = repository / "added_embed-e5" / "config.pbtxt"
    config.write_text(config.read_text(encoding="utf-8").replace("max_batch_size: 32", "max_batch_size: 8"))
    prepare(repository, E5, replace(PROMISE, width=768))
    text = config.read_text(encoding="utf-8")
    assert "max_batch_size: 8" in text
    assert "dims: [ -1, 768 ]" in text


def test_a_model_that_could_not_be_exported_is_not_served(repository: Path) -> None:
    prepare(repository, E5, PROMISE)
    (repository / "added_embed-e5" / "1" / "exported.json").write_text('{"failed": "no weights"}', encoding="utf-8")
    assert added_in(repository).models == ()
