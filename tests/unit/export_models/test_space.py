"""The disk space that an export needs."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts.export_models import space
from scripts.export_models.checkpoints import EMBEDDER, WHISPER_TURBO, Checkpoint, SourceError
from scripts.export_models.demo.packages import File, Offer, Package, Published
from scripts.export_models.demo.published import PUBLISHED
from scripts.export_models.sources import source_of
from scripts.export_models.space import Need

_GB = 10**9


@pytest.fixture(autouse=True)
def _five_gigabytes_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5 * _GB))


def test_downloads_and_exports_on_one_disk_are_added_up(tmp_path: Path) -> None:
    wanted = [Need(tmp_path / "work" / "hub", 3 * _GB, "downloads"), Need(tmp_path, 3 * _GB, "exports")]
    said = rf"6.0 GB of disk are needed \(3.0 GB of downloads, 3.0 GB of exports\), and that of {tmp_path}/work/hub has"
    with pytest.raises(SourceError, match=said):
        space.check(wanted)


def test_downloads_and_exports_on_two_disks_are_not_added_up(tmp_path: Path) -> None:
    space.check([Need(Path("/dev/shm"), 3 * _GB, "downloads"), Need(tmp_path, 3 * _GB, "exports")])


def test_only_the_hub_is_downloaded_from_and_nothing_takes_scratch(tmp_path: Path) -> None:
    def what(source: str, sizes: dict[Checkpoint, int]) -> list[str]:
        return [need.what for need in space.needs(source, sizes, tmp_path, tmp_path)]

    assert what("folder", {EMBEDDER: 1}) == ["exports"]
    assert what("folder", {WHISPER_TURBO: 1}) == ["exports"]
    assert what("hub", {EMBEDDER: 1}) == ["downloads", "exports"]


def test_a_model_that_is_packed_takes_the_space_of_its_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer = Offer((Package("it==1.0.0", "", 70),), {"it.bin": File("0" * 64, ("it/it.bin",))})
    monkeypatch.setitem(PUBLISHED, "text", Published("it", "MIT", (offer,), written=400))
    sizes = space.sizes("demo", source_of("demo", None, tmp_path), ["m3_embedder"])
    assert [need.size for need in space.needs("demo", sizes, tmp_path, tmp_path)] == [210, 400]


def test_downloaded_files_are_not_counted_again(tmp_path: Path) -> None:
    come = tmp_path / "hub" / EMBEDDER.repository / "pytorch_model.bin"
    come.parent.mkdir(parents=True)
    come.write_bytes(bytes(400))
    downloads, _ = space.needs("hub", {EMBEDDER: 1000}, tmp_path, tmp_path)
    assert downloads.size == 600
