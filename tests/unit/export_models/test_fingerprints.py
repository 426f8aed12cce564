"""What brings a new export: other weights, other settings, never another place."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.export_models import fingerprints, stamp
from scripts.export_models.checkpoints import EMBEDDER, VOICE_FILES, VOICES, WHISPER_TURBO, Kind
from scripts.export_models.demo.published import PUBLISHED
from scripts.export_models.fingerprints import Fingerprints
from scripts.export_models.sources import DemoSource, FolderSource, HubSource, Source
from scripts.export_models.stamp import Digests
from scripts.machine import versions


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Checkpoints without a model in them: nothing but their bytes counts."""
    folder = tmp_path / "models"
    for checkpoint in (EMBEDDER, WHISPER_TURBO):
        (folder / checkpoint.repository).mkdir(parents=True)
        (folder / checkpoint.repository / "config.json").write_text("{}", encoding="utf-8")
        (folder / checkpoint.repository / "model.safetensors").write_bytes(b"weights")
    for path in VOICE_FILES.values():
        voice = folder / VOICES.repository / f"{path}.onnx"
        voice.parent.mkdir(parents=True)
        voice.write_bytes(path.encode())
        voice.with_name(f"{voice.name}.json").write_text("{}", encoding="utf-8")
    return folder


def _of(model: str, source: Path | Source, *, name: str = "folder", precision: str = "int8") -> str:
    its = FolderSource(source) if isinstance(source, Path) else source
    memory = source.parent / "digests.json" if isinstance(source, Path) else Path(os.devnull)
    return Fingerprints(its, name, Digests(memory), precision=precision).of(model)


MODELS = ["m3_embedder", "whisper_turbo", "piper_amy"]


@pytest.mark.parametrize("model", MODELS)
def test_a_folder_that_has_moved_is_the_same(folder: Path, model: str) -> None:
    before = _of(model, folder)
    moved = folder.with_name("moved")
    shutil.copytree(folder, moved)
    shutil.rmtree(folder)
    assert _of(model, moved) == before


@pytest.mark.parametrize(
    ("model", "file"),
    [
        ("m3_embedder", f"{EMBEDDER.repository}/model.safetensors"),
        ("m3_embedder", f"{EMBEDDER.repository}/config.json"),
        ("whisper_turbo", f"{WHISPER_TURBO.repository}/model.safetensors"),
        ("piper_amy", f"{VOICES.repository}/{VOICE_FILES['amy']}.onnx"),
        ("piper_amy", f"{VOICES.repository}/{VOICE_FILES['amy']}.onnx.json"),
    ],
)
def test_other_bytes_of_a_model_are_another(folder: Path, model: str, file: str) -> None:
    before = {name: _of(name, folder) for name in MODELS}
    (folder / file).write_bytes(b"changed")
    assert {name for name in MODELS if _of(name, folder) != before[name]} == {model}


def test_how_texts_are_pooled_counts(folder: Path) -> None:
    before = _of("m3_embedder", folder)
    pooling = folder / EMBEDDER.repository / "1_Pooling" / "config.json"
    pooling.parent.mkdir()
    pooling.write_text(json.dumps({"pooling_mode_mean_tokens": True}), encoding="utf-8")
    assert _of("m3_embedder", folder) != before


def test_a_picture_beside_the_weights_does_not_count(folder: Path) -> None:
    before = _of("m3_embedder", folder)
    (folder / EMBEDDER.repository / "plot.png").write_bytes(b"1")
    (folder / EMBEDDER.repository / "README.md").write_bytes(b"1")
    assert _of("m3_embedder", folder) == before


def test_another_precision_is_another_export_of_all_but_voices(folder: Path) -> None:
    before = {name: _of(name, folder) for name in MODELS}
    changed = {name for name in MODELS if _of(name, folder, precision="fp32") != before[name]}
    assert changed == {"m3_embedder", "whisper_turbo"}


@pytest.mark.parametrize(("precision", "matters"), [("auto", True), ("int8", False), ("fp32", False)])
def test_the_processor_counts_where_it_decides(
    folder: Path, monkeypatch: pytest.MonkeyPatch, precision: str, matters: bool
) -> None:
    found = set()
    for fast in (True, False):
        monkeypatch.setattr(fingerprints, "int8_is_fast", lambda fast=fast: fast)
        found.add(_of("m3_embedder", folder, precision=precision))
    assert (len(found) == 2) is matters


def test_whisper_is_exported_the_same_on_any_processor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()
    for fast in (True, False):
        monkeypatch.setattr(fingerprints, "int8_is_fast", lambda fast=fast: fast)
        found.add(_of("whisper_turbo", folder, precision="auto"))
    assert len(found) == 1


@pytest.mark.parametrize(("model", "tool"), [("m3_embedder", "onnx"), ("whisper_turbo", "openvino")])
def test_another_version_of_a_tool_is_another_export(
    folder: Path, monkeypatch: pytest.MonkeyPatch, model: str, tool: str
) -> None:
    before = _of(model, folder)
    monkeypatch.setattr(
        fingerprints,
        "versions",
        lambda tools, _: {**versions(tools, ""), **dict.fromkeys({tool}.intersection(tools), "0")},
    )
    assert _of(model, folder) != before


def test_the_calibration_texts_count(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _of("m3_embedder", folder)
    (tmp_path / "calibration.txt").write_text("other texts", encoding="utf-8")
    monkeypatch.setitem(fingerprints._DATA, "text", [tmp_path / "calibration.txt"])
    assert _of("m3_embedder", folder) != before


def test_the_hub_is_known_by_its_commit_without_a_download(tmp_path: Path) -> None:
    hub = HubSource(tmp_path / "none", "http://127.0.0.1:9")
    assert _of("m3_embedder", hub, name="hub") != _of("m3_reranker", hub, name="hub")


@pytest.mark.parametrize(
    ("kind", "models"),
    [("whisper", {"whisper_turbo", "whisper_large_v3"}), ("text", {"m3_embedder"}), ("voices", {"piper_ryan"})],
)
def test_what_the_demo_downloads_is_known_by_its_hashes_without_a_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind, models: set[str]
) -> None:
    def prints() -> dict[str, str]:
        names = ("whisper_turbo", "whisper_large_v3", "m3_embedder", "piper_ryan", "piper_amy")
        return {name: _of(name, DemoSource(tmp_path), name="demo") for name in names}

    before = prints()
    monkeypatch.setitem(PUBLISHED, kind, replace(PUBLISHED[kind], made={"model": "0" * 64}))
    assert {name for name, found in prints().items() if found != before[name]} == models


def test_the_demos_voices_depend_on_the_code_that_builds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo = DemoSource(tmp_path)
    before = _of("piper_amy", demo, name="demo")
    real = stamp.code_of
    monkeypatch.setattr(stamp, "code_of", lambda module: real(module) | {module: "changed"})
    assert _of("piper_amy", demo, name="demo") != before
