"""An error in a folder of checkpoints is one sentence that names the file; a text model has the catalogue's sizes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts.export_models import checkpoints
from scripts.export_models.checkpoints import (
    PROMISES,
    Kind,
    SourceError,
    check_model,
    check_promise,
    check_voice,
    hidden_width,
    in_words,
    is_packed,
    usable_positions,
)

WINDOWS = {"num_mel_bins": 80, "feature_size": 80, "chunk_length": 30}
CONFIGS: dict[Kind, dict[str, Any]] = {
    "text": {"model_type": "xlm-roberta"},
    "whisper": {"model_type": "whisper", **WINDOWS},
}
FILES: dict[Kind, list[str]] = {
    "text": ["config.json", "tokenizer.json"],
    "whisper": ["config.json", "tokenizer.json", "generation_config.json", "preprocessor_config.json"],
}


def _model(folder: Path, kind: Kind) -> Path:
    for name in FILES[kind]:
        (folder / name).write_text(json.dumps(CONFIGS[kind]), encoding="utf-8")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


@pytest.mark.parametrize("kind", ["text", "whisper"])
def test_a_complete_checkpoint_passes(tmp_path: Path, kind: Kind) -> None:
    check_model(_model(tmp_path, kind), kind)


@pytest.mark.parametrize("weights", ["pytorch_model.bin", "model.safetensors.index.json"])
def test_weights_may_have_other_file_names(tmp_path: Path, weights: str) -> None:
    (_model(tmp_path, "text") / "model.safetensors").rename(tmp_path / weights)
    check_model(tmp_path, "text")


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in FILES.items() for name in names])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "is missing"),
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"{}", "is empty"),
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[1]", "is not a JSON object"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, kind: Kind, name: str, content: bytes | None, reason: str) -> None:
    path = _model(tmp_path, kind) / name
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        check_model(tmp_path, kind)
    assert str(caught.value) == f"{path} {reason}"


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_pointer_of_git_lfs_is_named(tmp_path: Path, name: str) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n"
    (_model(tmp_path, "text") / name).write_bytes(pointer)
    with pytest.raises(SourceError, match=rf"{name} is a pointer of Git LFS: run 'git lfs pull'"):
        check_model(tmp_path, "text")


@pytest.mark.parametrize(
    ("name", "read"), [("hidden_size", hidden_width), ("max_position_embeddings", usable_positions)]
)
def test_what_is_no_number_in_a_configuration_is_named(tmp_path: Path, name: str, read: Callable[[Path], int]) -> None:
    (tmp_path / "config.json").write_text(json.dumps({name: "many"}), encoding="utf-8")
    with pytest.raises(SourceError, match=f"has the {name} 'many', which is no whole number"):
        read(tmp_path)


def test_a_model_of_another_type_is_named(tmp_path: Path) -> None:
    (_model(tmp_path, "text") / "config.json").write_text('{"model_type": "gpt2"}', encoding="utf-8")
    with pytest.raises(SourceError, match="a model of type 'gpt2'; there are bert, xlm-roberta, albert"):
        check_model(tmp_path, "text")


@pytest.mark.parametrize("changed", [{"feature_size": 10**9}, {"chunk_length": 10**9}, {"chunk_length": "30"}])
def test_windows_that_are_not_the_models_are_named(tmp_path: Path, changed: dict[str, Any]) -> None:
    path = _model(tmp_path, "whisper") / "preprocessor_config.json"
    path.write_text(json.dumps({**WINDOWS, **changed}), encoding="utf-8")
    with pytest.raises(
        SourceError, match=r"preprocessor_config\.json has windows of \d+ bins and \d+ s, which are not"
    ):
        check_model(tmp_path, "whisper")


def test_a_model_with_code_of_its_own_is_refused_for_that(tmp_path: Path) -> None:
    config = {"model_type": "nomic_bert", "auto_map": {"AutoModel": "modeling.NomicBertModel"}}
    (_model(tmp_path, "text") / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(SourceError, match=r"of type 'nomic_bert', whose own code \(auto_map\) is not run; there are"):
        check_model(tmp_path, "text")


@pytest.mark.parametrize(
    ("changed", "packed"),
    [({}, True), ({"hidden_act": "relu"}, False), ({"position_embedding_type": "relative_key"}, False)],
)
def test_what_the_packed_graph_does_not_know_is_exported_by_optimum(
    tmp_path: Path, changed: dict[str, Any], packed: bool
) -> None:
    config = {"model_type": "bert", "architectures": ["BertModel"], **changed}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert is_packed(tmp_path) is packed


def test_missing_weights_are_named(tmp_path: Path) -> None:
    (_model(tmp_path, "text") / "model.safetensors").unlink()
    with pytest.raises(SourceError, match="has no weights"):
        check_model(tmp_path, "text")


def test_empty_weights_are_named(tmp_path: Path) -> None:
    (_model(tmp_path, "text") / "model.safetensors").write_bytes(b"")
    with pytest.raises(SourceError, match=r"model\.safetensors is empty"):
        check_model(tmp_path, "text")


def _voice(folder: Path) -> tuple[Path, Path]:
    model, settings = checkpoints.voice_files(folder, "amy")
    model.parent.mkdir(parents=True)
    model.write_bytes(b"sound")
    settings.write_text('{"phoneme_id_map": {"_": [0]}}', encoding="utf-8")
    return model, settings


def test_a_complete_voice_passes(tmp_path: Path) -> None:
    _voice(tmp_path)
    check_voice(tmp_path, "amy")


def test_a_voice_without_its_sound_is_named(tmp_path: Path) -> None:
    _voice(tmp_path)[0].unlink()
    with pytest.raises(SourceError, match=r"amy-medium\.onnx is missing or empty"):
        check_voice(tmp_path, "amy")


def test_a_voice_without_phonemes_is_named(tmp_path: Path) -> None:
    _voice(tmp_path)[1].write_text('{"audio": 1}', encoding="utf-8")
    with pytest.raises(SourceError, match="no phoneme_id_map"):
        check_voice(tmp_path, "amy")


@pytest.mark.parametrize(("size", "words"), [(2_300_000_000, "2.3 GB"), (91_000_000, "91 MB"), (0, "0 MB")])
def test_sizes_are_in_megabytes_or_gigabytes(size: int, words: str) -> None:
    assert in_words(size) == words


M3 = {"model_type": "xlm-roberta", "hidden_size": 1024, "max_position_embeddings": 8194}


def _folder(folder: Path, *, stands_in: bool = False, **changed: Any) -> Path:
    (folder / "config.json").write_text(json.dumps(M3 | changed), encoding="utf-8")
    if stands_in:
        (folder / "quartet.json").write_text('{"stands_in": true}', encoding="utf-8")
    return folder


@pytest.mark.parametrize("model", ["m3_embedder", "m3_reranker"])
def test_m3_passes(tmp_path: Path, model: str) -> None:
    check_promise(PROMISES[model], _folder(tmp_path))


@pytest.mark.parametrize("width", [384, 768, 2048])
def test_an_embedder_of_another_width_is_refused(tmp_path: Path, width: int) -> None:
    with pytest.raises(SourceError) as caught:
        check_promise(PROMISES["m3_embedder"], _folder(tmp_path, hidden_size=width))
    assert str(caught.value) == f"{tmp_path} gives vectors of {width} numbers, and m3_embedder promises 1024"


def test_a_stand_in_that_is_wider_than_promised_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="gives vectors of 2048 numbers"):
        check_promise(PROMISES["m3_embedder"], _folder(tmp_path, stands_in=True, hidden_size=2048))


def test_a_reranker_may_have_any_width(tmp_path: Path) -> None:
    check_promise(PROMISES["m3_reranker"], _folder(tmp_path, hidden_size=768))


@pytest.mark.parametrize("model", ["m3_embedder", "m3_reranker"])
@pytest.mark.parametrize("positions", [514, 8193])
def test_a_model_of_fewer_positions_is_refused(tmp_path: Path, model: str, positions: int) -> None:
    with pytest.raises(SourceError) as caught:
        check_promise(PROMISES[model], _folder(tmp_path, max_position_embeddings=positions))
    assert str(caught.value) == f"{tmp_path} has {positions - 2} positions, and {model} takes texts of 8192 tokens"


@pytest.mark.parametrize("model", ["m3_embedder", "m3_reranker"])
def test_a_stand_in_may_be_narrower_and_shorter(tmp_path: Path, model: str) -> None:
    check_promise(PROMISES[model], _folder(tmp_path, stands_in=True, hidden_size=384, max_position_embeddings=512))


@pytest.mark.parametrize(
    "changed",
    [{"model_type": "mpnet"}, {"model_type": "bert", "architectures": ["BertForSequenceClassification"]}],
    ids=["another type", "texts of a pair have types"],
)
def test_only_a_packed_model_may_stand_in(tmp_path: Path, changed: dict[str, Any]) -> None:
    _folder(tmp_path, stands_in=True, **changed, max_position_embeddings=512)
    with pytest.raises(SourceError, match="positions, and m3_reranker takes texts of 8192 tokens"):
        check_promise(PROMISES["m3_reranker"], tmp_path)


def test_berts_positions_begin_with_the_first(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert", "max_position_embeddings": 512}', encoding="utf-8")
    assert usable_positions(tmp_path) == 512
