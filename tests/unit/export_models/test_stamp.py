"""Another checkpoint, precision or version brings a new export; another folder does not."""

import hashlib
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from frontend.catalogue.kokoro import DEMO_SPEAKERS, Speaker
from frontend.catalogue.voices import KOKORO
from scripts.export_models import plan, precisions, stamp
from scripts.export_models.checkpoints import EMBEDDER, VOICE_FILES, VOICES, WHISPER_TURBO, Kind
from scripts.export_models.demo.published import PUBLISHED
from scripts.export_models.sources import Sources, source_of
from scripts.export_models.stamp import Digests, Stamp


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Checkpoints without a real model: only their bytes count."""
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


def _of(model: str, source: Path | Sources, *, name: str = "folder", precision: str = "int8") -> Stamp:
    if isinstance(source, Path):
        return stamp.wanted(
            model, source_of("folder", source, source), name, precision, Digests(source.parent / "digests.json")
        )
    return stamp.wanted(model, source, name, precision, Digests(Path(os.devnull)), DEMO_SPEAKERS)


MODELS = ["m3_embedder", "whisper_turbo", "piper_amy"]


@pytest.mark.parametrize("model", MODELS)
def test_a_moved_folder_has_the_same_stamp(folder: Path, model: str) -> None:
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
        ("m3_embedder", f"{EMBEDDER.repository}/1_Pooling/config.json"),
        ("m3_embedder", f"{EMBEDDER.repository}/sparse_linear.pt"),
        ("whisper_turbo", f"{WHISPER_TURBO.repository}/model.safetensors"),
        ("piper_amy", f"{VOICES.repository}/{VOICE_FILES['amy']}.onnx"),
        ("piper_amy", f"{VOICES.repository}/{VOICE_FILES['amy']}.onnx.json"),
    ],
)
def test_other_bytes_change_the_stamp_of_their_model_alone(folder: Path, model: str, file: str) -> None:
    before = {name: _of(name, folder) for name in MODELS}
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_bytes(b"changed")
    assert {name for name in MODELS if _of(name, folder) != before[name]} == {model}


def test_a_picture_beside_the_weights_does_not_count(folder: Path) -> None:
    before = _of("m3_embedder", folder)
    (folder / EMBEDDER.repository / "plot.png").write_bytes(b"1")
    (folder / EMBEDDER.repository / "colbert_linear.pt").write_bytes(b"1")
    (folder / EMBEDDER.repository / "README.md").write_bytes(b"1")
    assert _of("m3_embedder", folder) == before


def test_another_precision_changes_all_stamps_except_those_of_voices(folder: Path) -> None:
    before = {name: _of(name, folder) for name in MODELS}
    changed = {name for name in MODELS if _of(name, folder, precision="fp32") != before[name]}
    assert changed == {"m3_embedder", "whisper_turbo"}


@pytest.mark.parametrize(("precision", "matters"), [("auto", True), ("int8", False), ("fp32", False)])
def test_the_processor_counts_for_auto_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, precision: str, matters: bool
) -> None:
    found = set()
    for fast in (True, False):
        monkeypatch.setattr(precisions, "int8_is_fast", lambda fast=fast: fast)
        found.add(_of("m3_embedder", folder, precision=precision).precision)
    assert (len(found) == 2) is matters


def test_a_precision_that_auto_may_choose_is_another_wish(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("int8_is_fast", "bf16_is_fast"):
        monkeypatch.setattr(precisions, name, lambda: True)
    wishes = [_of("m3_embedder", folder, precision=wanted) for wanted in ("auto", "int8", "bf16", "fp32")]
    assert not any(one.of_the_same(other) for one in wishes for other in wishes if one is not other)


def test_whisper_is_exported_the_same_on_any_processor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()
    for fast in (True, False):
        monkeypatch.setattr(precisions, "int8_is_fast", lambda fast=fast: fast)
        found.add(_of("whisper_turbo", folder, precision="auto").precision)
    assert len(found) == 1


def test_another_version_of_the_export_changes_all_stamps(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: _of(name, folder) for name in MODELS}
    monkeypatch.setattr(plan, "EXPORT_VERSION", plan.EXPORT_VERSION + 1)
    assert not any(_of(name, folder).of_the_same(before[name]) for name in MODELS)


def test_the_way_and_the_source_of_an_export_do_not_count(folder: Path) -> None:
    wanted = _of("m3_embedder", folder)
    assert replace(wanted, way="bf16", skipped=["int8: lost too much"], source="hub").of_the_same(wanted)


def test_a_stamp_from_the_hub_needs_no_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    hub = source_of("hub", None, tmp_path / "none")
    assert _of("m3_embedder", hub, name="hub") != _of("m3_reranker", hub, name="hub")


@pytest.mark.parametrize(
    ("kind", "models"),
    [
        ("whisper", {"whisper_turbo", "whisper_large_v3"}),
        ("text", {"m3_embedder"}),
        ("voices", {"piper_ryan"}),
        ("kokoro", {KOKORO}),
    ],
)
def test_another_hash_of_a_demo_package_changes_the_stamps_of_its_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind, models: set[str]
) -> None:
    def stamps() -> dict[str, Stamp]:
        names = ("whisper_turbo", "whisper_large_v3", "m3_embedder", "piper_ryan", KOKORO)
        return {name: _of(name, source_of("demo", None, tmp_path), name="demo") for name in names}

    before = stamps()
    monkeypatch.setitem(PUBLISHED, kind, replace(PUBLISHED[kind], made={"model": "0" * 64}))
    assert {name for name, found in stamps().items() if found != before[name]} == models


def test_the_digest_of_a_file_depends_on_its_bytes(tmp_path: Path) -> None:
    for name, data in (("one", b"same"), ("two", b"same"), ("three", b"other")):
        (tmp_path / name).write_bytes(data)
    one, two, three = (Digests(tmp_path / "memory").of(tmp_path / name) for name in ("one", "two", "three"))
    assert one == two != three


def test_an_unchanged_file_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "weights").write_bytes(b"1")
    before = Digests(tmp_path / "memory").of(tmp_path / "weights")
    monkeypatch.delattr(hashlib, "file_digest")
    assert Digests(tmp_path / "memory").of(tmp_path / "weights") == before


def test_a_file_of_the_same_size_and_time_with_other_bytes_is_read_again(tmp_path: Path) -> None:
    path, memory = tmp_path / "weights", tmp_path / "memory"
    path.write_bytes(b"1")
    before, status = Digests(memory).of(path), path.stat()
    path.write_bytes(b"2")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert Digests(memory).of(path) != before


def test_an_unreadable_memory_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("{", encoding="utf-8")
    (tmp_path / "weights").write_bytes(b"1")
    assert len(Digests(tmp_path / "memory").of(tmp_path / "weights")) == 64


def test_a_stamp_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "m" / "1").mkdir(parents=True)
    written = Stamp("digest", "int8", 1, "hub", "bf16", ["int8: lost too much"], ["fp16: runs on CUDA alone"])
    stamp.write(tmp_path, "m", written)
    assert stamp.read(tmp_path, "m") == written


@pytest.mark.parametrize("text", ["", "{", "[]", '{"other": 1}', None])
def test_an_unreadable_stamp_is_none(tmp_path: Path, text: str | None) -> None:
    (tmp_path / "m" / "1").mkdir(parents=True)
    if text is not None:
        (tmp_path / "m" / "1" / "exported.json").write_text(text, encoding="utf-8")
    assert stamp.read(tmp_path, "m") is None


def test_a_model_is_missing_without_a_stamp_or_with_one_of_another_source(tmp_path: Path) -> None:
    for name, source in (("demos", "demo"), ("hubs", "hub"), ("old", "")):
        (tmp_path / name / "1").mkdir(parents=True)
        stamp.write(tmp_path, name, Stamp("digest", source=source))
    assert stamp.missing(tmp_path, ["demos", "hubs", "old", "none"], "hub") == ["demos", "none"]


def _kokoro(*speakers: Speaker) -> Stamp:
    return stamp.wanted(KOKORO, source_of("demo", None, Path()), "demo", "auto", Digests(Path(os.devnull)), speakers)


def test_kokoros_stamp_names_its_voices_also_if_its_export_fails() -> None:
    eva = Speaker.of("eva", "if_sara")
    voices = [{"name": "eva", "language": "it", "gender": "female"}]
    assert _kokoro(eva).voices == stamp.failed(KOKORO, "no such package", "demo", [eva]).voices == voices


@pytest.mark.parametrize(
    "other",
    [Speaker.of("anna", "if_sara"), Speaker.of("eva", "im_nicola"), Speaker.of("eva", "if_sara", language="de")],
    ids=["name", "style", "language"],
)
def test_another_voice_changes_kokoros_stamp(other: Speaker) -> None:
    eva = Speaker.of("eva", "if_sara")
    assert not _kokoro(eva).of_the_same(_kokoro(other))


def test_a_kokoro_without_a_voice_is_exported_again() -> None:
    wanted = _kokoro(Speaker.of("eva", "if_sara"), Speaker.of("max", "im_nicola"))
    made = stamp.without(wanted, {"max": "no such style"})
    assert ([voice["name"] for voice in made.voices], made.without) == (["eva"], ["max: no such style"])
    assert not made.of_the_same(wanted)
