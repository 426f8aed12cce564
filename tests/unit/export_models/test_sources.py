"""Downloads, against a local stand-in of the model hub that serves files under the real names."""

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from scripts.export_models import checkpoints
from scripts.export_models.checkpoints import Checkpoint, SourceError
from scripts.export_models.sources import FolderSource, HubSource

REVISION = "a" * 40
SMALL = b'{"model_type": "bert"}'
# The hub's client writes 10 MB at a time, and only what it wrote is there to go on from.
LARGE = bytes(range(256)) * 100_000
TINY = Checkpoint("BAAI/tiny", REVISION, "MIT", 26_000_000, ("config.json", "model.safetensors"))


@dataclass
class Hub:
    """What the stand-in serves, and what it was asked."""

    files: dict[str, bytes]
    address: str = ""
    hashes: dict[str, str] = field(default_factory=dict)
    ranges: list[str] = field(default_factory=list)
    break_after: int | None = None


def _etag(name: str, data: bytes) -> str:
    if name.endswith(".json"):
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    return hashlib.sha256(data).hexdigest()


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _serve(self, body: bool) -> None:
            prefix = f"/{TINY.repository}/resolve/{REVISION}/"
            name = self.path.removeprefix(prefix)
            if not self.path.startswith(prefix) or name not in hub.files:
                self.send_response(404)
                self.send_header("X-Error-Code", "EntryNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            data = hub.files[name]
            start = 0
            if body and (wanted := self.headers.get("Range")):
                hub.ranges.append(wanted)
                start = int(wanted.removeprefix("bytes=").split("-")[0])
            self.send_response(206 if start else 200)
            self.send_header("X-Repo-Commit", REVISION)
            self.send_header("ETag", f'"{hub.hashes.get(name, _etag(name, data))}"')
            self.send_header("Accept-Ranges", "bytes")
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            self.send_header("Content-Length", str(len(data) - start))
            self.end_headers()
            if body:
                stop = len(data) if hub.break_after is None else start + hub.break_after
                self.wfile.write(data[start:stop])

        def do_HEAD(self) -> None:
            self._serve(body=False)

        def do_GET(self) -> None:
            self._serve(body=True)

        def log_message(self, format: str, *arguments: object) -> None:
            return

    return Handler


@pytest.fixture
def hub() -> Iterator[Hub]:
    state = Hub({"config.json": SMALL, "model.safetensors": LARGE})
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    state.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


def test_every_file_arrives_as_the_hub_has_it(hub: Hub, tmp_path: Path) -> None:
    folder = HubSource(tmp_path, hub.address).fetch(TINY)
    assert (folder / "config.json").read_bytes() == SMALL
    assert (folder / "model.safetensors").read_bytes() == LARGE


def test_a_second_fetch_downloads_nothing(hub: Hub, tmp_path: Path) -> None:
    HubSource(tmp_path, hub.address).fetch(TINY)
    hub.break_after = 0
    assert (HubSource(tmp_path, hub.address).fetch(TINY) / "model.safetensors").read_bytes() == LARGE


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_file_with_another_hash_is_refused_and_removed(hub: Hub, tmp_path: Path, name: str) -> None:
    hub.hashes[name] = "0" * len(_etag(name, b""))
    with pytest.raises(SourceError, match="hash"):
        HubSource(tmp_path, hub.address).fetch(TINY)
    assert not (tmp_path / TINY.repository / name).exists()


def test_a_file_the_hub_does_not_have_is_named(hub: Hub, tmp_path: Path) -> None:
    del hub.files["model.safetensors"]
    with pytest.raises(SourceError, match=r"model\.safetensors"):
        HubSource(tmp_path, hub.address).fetch(TINY)


def test_a_hub_that_is_away_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # huggingface_hub tries five times more, and waits in between.
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    with pytest.raises(SourceError, match="could not be downloaded"):
        HubSource(tmp_path, "http://127.0.0.1:9").fetch(TINY)


def test_a_download_goes_on_where_it_broke_off(hub: Hub, tmp_path: Path) -> None:
    partial = tmp_path / TINY.repository / ".cache" / "huggingface" / "download"
    HubSource(tmp_path, hub.address).fetch(Checkpoint(TINY.repository, REVISION, "", 0, ("config.json",)))
    hub.break_after = 22_000_000
    with pytest.raises(SourceError):
        HubSource(tmp_path, hub.address).fetch(TINY)
    hub.break_after = None
    assert any(file.suffix == ".incomplete" for file in partial.iterdir())
    HubSource(tmp_path, hub.address).fetch(TINY)
    assert any(int(wanted.removeprefix("bytes=").split("-")[0]) >= 10_000_000 for wanted in hub.ranges)
    assert (tmp_path / TINY.repository / "model.safetensors").read_bytes() == LARGE


def test_a_folder_is_taken_in_the_layout_of_the_hub(tmp_path: Path) -> None:
    (tmp_path / "BAAI" / "tiny").mkdir(parents=True)
    assert FolderSource(tmp_path).fetch(TINY) == tmp_path / "BAAI" / "tiny"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="BAAI/tiny"):
        FolderSource(tmp_path).fetch(TINY)


@pytest.mark.parametrize(
    "checkpoint",
    [
        checkpoints.WHISPER_TURBO,
        checkpoints.WHISPER_LARGE,
        checkpoints.EMBEDDER,
        checkpoints.RERANKER,
        checkpoints.VOICES,
    ],
    ids=lambda c: c.repository,
)
def test_every_checkpoint_is_pinned_to_a_commit(checkpoint: Checkpoint) -> None:
    assert len(checkpoint.revision) == 40
    assert int(checkpoint.revision, 16)
