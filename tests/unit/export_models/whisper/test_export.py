import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from scripts.export_models import whisper
from scripts.export_models import whisper_checks as checks
from scripts.export_models.checkpoints import SourceError
from scripts.export_models.parity import first_that_passes


@pytest.mark.parametrize(
    ("precision", "names"),
    [
        ("auto", ["int8", "int8 by CTranslate2", "fp32"]),
        ("int8", ["int8", "int8 by CTranslate2", "fp32"]),
        ("bf16", ["fp32"]),
        ("fp32", ["fp32"]),
        ("fp16", ["fp16"]),
    ],
)
def test_the_ways_of_each_precision_are_in_order(precision: str, names: list[str], tmp_path: Path) -> None:
    assert whisper.ways(precision, tmp_path) == names


@pytest.mark.parametrize(("way", "graphs"), [("int8", True), ("int8 by CTranslate2", False), ("fp32", False)])
def test_only_the_first_way_writes_graphs_and_each_removes_the_files_of_the_previous_one(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, graphs: bool
) -> None:
    monkeypatch.setattr(checks, "compare", lambda *_: [])
    (tmp_path / "whisper").mkdir()
    for name in ("encoder.xml", "model.bin"):
        (tmp_path / "whisper" / name).touch()
    whisper.export("whisper_turbo", small, tmp_path, way)
    assert (tmp_path / "whisper" / "encoder.xml").is_file() is graphs
    assert (tmp_path / "whisper" / "model.bin").is_file() is not graphs


def _settings(folder: Path) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads((folder / "quartet.json").read_text(encoding="utf-8"))
    return settings


def test_the_settings_of_a_checkpoint_are_written(exported: Path) -> None:
    settings = _settings(exported)
    assert (settings["window_seconds"], settings["mel_bins"], settings["max_target_positions"]) == (30, 80, 448)
    assert (settings["silence_seconds"], settings["step_seconds"]) == (6, 2)
    assert (len(settings["languages"]), settings["suppressed_first"]) == (99, [220, 50257])
    assert settings["alignment_heads"] == [[3, 1], [4, 2], [4, 3], [4, 7], [5, 1], [5, 2], [5, 4], [5, 6]]


def test_without_alignment_heads_those_of_the_later_layers_are_taken(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whisper, "_write_graphs", lambda *_: None)
    source = shutil.copytree(small, tmp_path / "checkpoint")
    generation = json.loads((source / "generation_config.json").read_text(encoding="utf-8"))
    del generation["alignment_heads"]
    (source / "generation_config.json").write_text(json.dumps(generation), encoding="utf-8")
    whisper.convert(source, tmp_path / "target", "int8", graphs=True)
    assert _settings(tmp_path / "target")["alignment_heads"] == [[1, 0], [1, 1]]


def test_a_checkpoint_that_could_not_detect_languages_is_refused(small: Path, tmp_path: Path) -> None:
    source = shutil.copytree(small, tmp_path / "checkpoint")
    tokenizer = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary["ÿÿ"] = vocabulary.pop("")
    (source / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    with pytest.raises(SourceError, match="no multilingual Whisper: CTranslate2 finds no empty token"):
        whisper.convert(source, tmp_path / "target", "float32")


def _spoil(source: Path) -> None:
    """A channel of each encoder layer's attention is made a thousand times as large, and as much smaller behind: the
    model hears as before, but not in int8.
    """
    weights = load_file(source / "model.safetensors")
    for layer in range(2):
        attention = f"model.encoder.layers.{layer}.self_attn"
        for value in (weights[f"{attention}.v_proj.weight"], weights[f"{attention}.v_proj.bias"]):
            value[5] *= 1024
        weights[f"{attention}.out_proj.weight"][:, 5] /= 1024
    # The old file is still read from.
    (source / "model.safetensors").unlink()
    save_file(weights, source / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.usefixtures("spoken")
def test_a_whisper_that_fails_in_int8_is_exported_in_fp32(small: Path, tmp_path: Path) -> None:
    source = shutil.copytree(small, tmp_path / "source")
    _spoil(source)
    export = partial(whisper.export, "whisper_turbo", source, tmp_path / "out")
    exported = first_that_passes(whisper.ways("auto", source), export)
    assert exported.way == "fp32"
    assert [reason.partition(": ")[0] for reason in exported.skipped] == ["int8", "int8 by CTranslate2"]
    assert all("more words wrong than the original's is " in reason for reason in exported.skipped)
