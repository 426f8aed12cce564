"""An error in a folder of checkpoints is one sentence that names the file."""

import json
from pathlib import Path

import pytest

from scripts.export_models import checkpoints
from scripts.export_models.checkpoints import Kind, SourceError, check_model, check_voice, in_words

CONFIGS: dict[Kind, dict[str, str]] = {"text": {"model_type": "xlm-roberta"}, "whisper": {"model_type": "whisper"}}
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
        (b"[1]", "is not a JSON object"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, kind: Kind, name: str, content: bytes | None, reason: str) -> None:
    path = _model(tmp_path, kind) / name
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        check_model(tmp_path, kind)
    assert str(caught.value) == f"{path} {reason}"


def test_a_model_of_another_type_is_named(tmp_path: Path) -> None:
    (_model(tmp_path, "text") / "config.json").write_text('{"model_type": "gpt2"}', encoding="utf-8")
    with pytest.raises(SourceError, match="a model of type 'gpt2', not bert or xlm-roberta"):
        check_model(tmp_path, "text")


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
