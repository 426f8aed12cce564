"""Downloads from a local model hub, folders, and the demo's packages."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from frontend.catalogue.kokoro import DEMO_SPEAKERS, HUB, Speaker
from scripts.export_models import checkpoints
from scripts.export_models.checkpoints import (
    EMBEDDER,
    KOKORO_82M,
    WHISPER_LARGE,
    WHISPER_TURBO,
    Checkpoint,
    SourceError,
)
from scripts.export_models.demo.packages import Offer, Published
from scripts.export_models.demo.published import PUBLISHED
from scripts.export_models.kokoro.styles import OWN
from scripts.export_models.sources import DemoSource, FolderSource, HubSource, source_of, style, styles
from tests.hub import Cut, Hub

REVISION = "a" * 40
SMALL = b'{"model_type": "bert"}'
# The hub's client writes 10 MB at a time, and a download resumes after the last write.
WRITTEN = 10 * 1024 * 1024
LARGE = bytes(range(256)) * 100_000
TINY = Checkpoint("BAAI/tiny", REVISION, "MIT", 26_000_000, ("config.json", "model.safetensors"))
WEIGHTS = "BAAI/tiny/model.safetensors"


def _pin(monkeypatch: pytest.MonkeyPatch, file: str, content: bytes) -> None:
    monkeypatch.setitem(checkpoints.hub_hashes(), file, hashlib.sha256(content).hexdigest())


@pytest.fixture(autouse=True)
def _tiny_is_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    _pin(monkeypatch, "BAAI/tiny/config.json", SMALL)
    _pin(monkeypatch, WEIGHTS, LARGE)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    folder = tmp_path / "hub" / TINY.repository
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes(SMALL)
    (folder / "model.safetensors").write_bytes(LARGE)
    with Hub(tmp_path / "hub", {TINY.repository: REVISION}) as hub:
        yield hub


def test_every_file_of_a_checkpoint_is_downloaded(hub: Hub, tmp_path: Path) -> None:
    folder = HubSource(tmp_path, hub.address).fetch(TINY)
    assert (folder / "config.json").read_bytes() == SMALL
    assert (folder / "model.safetensors").read_bytes() == LARGE


def test_a_second_fetch_downloads_nothing(hub: Hub, tmp_path: Path) -> None:
    HubSource(tmp_path, hub.address).fetch(TINY)
    sent = hub.sent
    assert (HubSource(tmp_path, hub.address).fetch(TINY) / "model.safetensors").read_bytes() == LARGE
    assert hub.sent == sent


@pytest.mark.parametrize("name", TINY.files)
def test_a_file_with_another_hash_than_the_pinned_is_refused_and_removed_whatever_the_hub_says_of_it(
    hub: Hub, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = f"{TINY.repository}/{name}"
    _pin(monkeypatch, file, b"what was pinned")
    with pytest.raises(SourceError, match=f"{file} of {hub.address} does not have its pinned hash"):
        HubSource(tmp_path, hub.address).fetch(TINY)
    assert not (tmp_path / file).exists()


def test_a_file_without_a_pinned_hash_is_not_downloaded(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(checkpoints.hub_hashes(), WEIGHTS)
    with pytest.raises(SourceError, match="no SHA-256"):
        HubSource(tmp_path, hub.address).fetch(TINY)
    assert not hub.served[WEIGHTS]


def test_a_file_that_was_changed_on_disk_is_downloaded_again(hub: Hub, tmp_path: Path) -> None:
    folder = HubSource(tmp_path, hub.address).fetch(TINY)
    (folder / "config.json").write_bytes(b"{}")
    HubSource(tmp_path, hub.address).fetch(TINY)
    assert (folder / "config.json").read_bytes() == SMALL


def test_all_files_of_all_checkpoints_have_a_pinned_hash() -> None:
    pinned = checkpoints.hub_hashes()
    assert all(len(digest) == 64 and int(digest, 16) for digest in pinned.values())
    all_checkpoints = (WHISPER_TURBO, WHISPER_LARGE, EMBEDDER, checkpoints.RERANKER, checkpoints.VOICES)
    assert {f"{each.repository}/{file}" for each in all_checkpoints for file in each.files} <= pinned.keys()
    # The demo's own styles of Kokoro are some of the hub's.
    for path in OWN.glob("*.bin"):
        assert pinned[f"{KOKORO_82M.repository}/voices/{path.name}"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_the_hub_does_not_have_is_named(hub: Hub, tmp_path: Path) -> None:
    del hub.hashes[WEIGHTS]
    with pytest.raises(SourceError, match=r"model\.safetensors"):
        HubSource(tmp_path, hub.address).fetch(TINY)


def test_an_unreachable_hub_is_a_source_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # huggingface_hub tries five times more, and waits in between.
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    with pytest.raises(SourceError, match="could not be downloaded"):
        HubSource(tmp_path, "http://127.0.0.1:9").fetch(TINY)


def test_a_download_resumes_after_its_connection_broke(hub: Hub, tmp_path: Path) -> None:
    hub.cuts[WEIGHTS] = Cut(2 * WRITTEN)
    folder = HubSource(tmp_path, hub.address).fetch(TINY)
    assert (folder / "model.safetensors").read_bytes() == LARGE
    assert not hub.cuts
    assert hub.served[WEIGHTS] <= len(LARGE) + WRITTEN


def test_a_download_without_progress_is_an_error_and_the_next_fetch_resumes_it(hub: Hub, tmp_path: Path) -> None:
    hub.cuts[WEIGHTS] = Cut(2 * WRITTEN, lambda: hub.cuts.update({WEIGHTS: Cut(0)}))
    with pytest.raises(SourceError, match="could not be downloaded"):
        HubSource(tmp_path, hub.address).fetch(TINY)
    sent = hub.sent
    HubSource(tmp_path, hub.address).fetch(TINY)
    assert hub.sent - sent <= len(LARGE) - WRITTEN
    assert (tmp_path / WEIGHTS).read_bytes() == LARGE


def test_a_folder_has_the_layout_of_the_hub(tmp_path: Path) -> None:
    (tmp_path / "BAAI" / "tiny").mkdir(parents=True)
    assert FolderSource(tmp_path).fetch(TINY) == tmp_path / "BAAI" / "tiny"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="BAAI/tiny"):
        FolderSource(tmp_path).fetch(TINY)


def test_the_demo_downloads_one_whisper_for_both_models(tmp_path: Path) -> None:
    assert DemoSource(tmp_path).downloads([WHISPER_TURBO, WHISPER_LARGE, EMBEDDER]) == [
        "Whisper base: 133 MB to download, licence MIT",
        "multilingual-e5-small: 91 MB to download, licence MIT",
    ]


def test_a_complete_demo_model_is_not_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = tmp_path / "text" / "quartet.json"
    ours.parent.mkdir()
    ours.write_text("{}", encoding="utf-8")
    published = Published("it", "MIT", (Offer((), {}),), own={"quartet.json": ours})
    monkeypatch.setitem(PUBLISHED, "text", published)
    assert DemoSource(tmp_path).downloads([EMBEDDER]) == []
    assert DemoSource(tmp_path).fetch(EMBEDDER) == tmp_path / "text"


def test_every_source_has_kokoro_from_the_demos_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "demo" / "kokoro"
    there.mkdir(parents=True)
    monkeypatch.setitem(PUBLISHED, "kokoro", Published("it", "MIT", (Offer((), {}),)))
    for name in ("demo", "hub", "folder"):
        assert source_of(name, tmp_path, tmp_path).fetch(KOKORO_82M) == there


def test_a_style_of_the_hub_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    speaker = Speaker.of("bella", "af_bella", HUB)
    file = tmp_path / "hub" / KOKORO_82M.repository / "voices" / "af_bella.bin"
    file.parent.mkdir(parents=True)
    file.write_bytes(bytes(510 * 256 * 4))
    _pin(monkeypatch, f"{KOKORO_82M.repository}/voices/af_bella.bin", file.read_bytes())
    with Hub(tmp_path / "hub", {KOKORO_82M.repository: KOKORO_82M.revision}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        assert style(speaker, tmp_path / "work").read_bytes() == file.read_bytes()


def test_a_style_that_the_hub_does_not_have_costs_its_own_voice_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hub").mkdir()
    with Hub(tmp_path / "hub", {KOKORO_82M.repository: KOKORO_82M.revision}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        found, without = styles([*DEMO_SPEAKERS, Speaker.of("bella", "af_belle", HUB)], tmp_path / "work")
    assert list(found) == list(DEMO_SPEAKERS)
    assert list(without) == ["bella"]
    with pytest.raises(SourceError):
        styles([Speaker.of("eva", "af_belle", str(tmp_path))], tmp_path / "work")


@pytest.mark.parametrize(
    "checkpoint",
    [
        WHISPER_TURBO,
        WHISPER_LARGE,
        EMBEDDER,
        checkpoints.RERANKER,
        checkpoints.VOICES,
        KOKORO_82M,
    ],
    ids=lambda c: c.repository,
)
def test_every_checkpoint_is_pinned_to_a_commit(checkpoint: Checkpoint) -> None:
    assert len(checkpoint.revision) == 40
    assert int(checkpoint.revision, 16)


OWN_TINY = Checkpoint(TINY.repository, REVISION, "", 0, (), own=True)


def test_an_operators_checkpoint_has_the_files_that_the_hub_has_at_its_commit(hub: Hub, tmp_path: Path) -> None:
    source = HubSource(tmp_path, hub.address)
    folder = source.fetch_own(OWN_TINY)
    assert (folder / "config.json").read_bytes() == SMALL
    assert (folder / "model.safetensors").read_bytes() == LARGE
    asked = hub.asked
    assert source.fetch_own(OWN_TINY) == folder
    assert hub.asked == asked


def test_an_operators_file_with_another_hash_than_the_hub_names_is_refused(hub: Hub, tmp_path: Path) -> None:
    hub.hashes[WEIGHTS] = "0" * 64
    with pytest.raises(SourceError, match=r"model\.safetensors .* does not have its pinned hash"):
        HubSource(tmp_path, hub.address).fetch_own(OWN_TINY)


def test_an_operators_checkpoint_without_weights_is_refused(hub: Hub, tmp_path: Path) -> None:
    del hub.hashes[WEIGHTS]
    with pytest.raises(SourceError, match="BAAI/tiny has no weights"):
        HubSource(tmp_path, hub.address).fetch_own(OWN_TINY)


def test_a_wrong_folder_of_an_added_model_is_named_and_others_are_not(tmp_path: Path) -> None:
    names = {"added_none": str(tmp_path / "none"), "added_long": f"{tmp_path}/{'a' * 300}"}
    models = {model: Checkpoint(name, "", "", 0, (), own=True) for model, name in names.items()}
    source = source_of("demo", None, tmp_path, models={**models, "added_hub": OWN_TINY})
    assert source.faults_of_own() == {
        "added_none": f"{tmp_path}/none is no folder; it must hold a checkpoint",
        "added_long": f"{names['added_long']} cannot be read: File name too long",
    }


def test_an_index_that_names_no_files_is_one_sentence(tmp_path: Path) -> None:
    index = "model.safetensors.index.json"
    repository = tmp_path / "hub" / OWN_TINY.repository
    repository.mkdir(parents=True)
    (repository / "config.json").write_text("{}", encoding="utf-8")
    (repository / index).write_text('{"weight_map": ["a"]}', encoding="utf-8")
    with Hub(tmp_path / "hub", {OWN_TINY.repository: REVISION}) as hub:
        source = HubSource(tmp_path / "cache", hub.address)
        with pytest.raises(SourceError, match="index.json names no files of weights"):
            source.fetch_own(OWN_TINY)
