"""Where checkpoints come from: the model hub, a folder of the same layout, or the demo's packages.

Hub downloads are pinned to a revision and resume after an interruption. Every file is checked against its SHA-256 in
``hub.sha256``, whatever the hub or its mirror says of it.
"""

import hashlib
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from frontend.catalogue.kokoro import Speaker
from frontend.catalogue.voices import KOKORO
from scripts.export_models.checkpoints import (
    ADDED_VOICES,
    CTRANSLATE2,
    HUB_ADDRESS,
    KOKORO_82M,
    OWN_FILES,
    PROMISES,
    WEIGHTS,
    Checkpoint,
    MissingFileError,
    SourceError,
    bytes_in,
    check_model,
    check_promise,
    check_voice,
    hub_hashes,
    in_words,
    read_json,
)
from scripts.export_models.demo import packages
from scripts.export_models.demo.published import PUBLISHED
from scripts.export_models.kokoro.styles import check_file, hub_file, local_file
from scripts.export_models.plan import CHECKPOINTS, voice_of
from scripts.export_models.progress import SILENT, Progress

# The longest wait for the hub's first answer.
_HUB_SECONDS = 10
# The hub's client gives unfinished downloads these names.
_UNFINISHED = "*.incomplete"
# In the folder of an operator's checkpoint once all of its files are there.
_COMPLETE = ".complete"
_SHA1_DIGITS, _PIECE_BYTES = 40, 1 << 20


class Source(Protocol):
    """Provides checkpoints of the catalogue's models."""

    def faults(self, models: Sequence[str]) -> dict[str, str]:
        """The ``models`` that cannot be exported, each with the reason, as far as a check of seconds finds."""

    def downloads(self, checkpoints: Sequence[Checkpoint]) -> list[str]:
        """A line for each checkpoint that ``fetch`` will download, with size and licence."""

    def fetch(self, checkpoint: Checkpoint) -> Path:
        """The local folder of a checkpoint, which is downloaded first if it is missing."""


def _fault(check: Callable[[], None]) -> str:
    """Why a check of a checkpoint's files fails, or empty."""
    try:
        check()
    except SourceError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename} cannot be read: {error.strerror}"
    return ""


def _download(name: str, size: int, licence: str) -> str:
    return f"{name}: {in_words(size)} to download, licence {licence}"


class FolderSource:
    """Checkpoints laid out as on the hub: ``<folder>/openai/whisper-large-v3-turbo/config.json``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def faults(self, models: Sequence[str]) -> dict[str, str]:
        found = {model: _fault(partial(self._check, model)) for model in models}
        return {model: fault for model, fault in found.items() if fault}

    def _check(self, model: str) -> None:
        checkpoint = CHECKPOINTS[model]
        folder = self.fetch(checkpoint)
        if voice := voice_of(model):
            check_voice(folder, voice)
            return
        check_model(folder, checkpoint.kind)
        if model in PROMISES:
            check_promise(PROMISES[model], folder)

    def downloads(self, checkpoints: Sequence[Checkpoint]) -> list[str]:
        return []

    def fetch(self, checkpoint: Checkpoint) -> Path:
        folder = self._folder / checkpoint.repository
        if not folder.is_dir():
            raise SourceError(f"{folder} does not exist; it must hold the files of {checkpoint.repository}")
        return folder


def _has_hash(path: Path, wanted: str) -> bool:
    """Whether a file has a hash: SHA-256, or git's of a blob, which is what the hub names for small files."""
    hashed = hashlib.sha1(b"blob %d\0" % path.stat().st_size) if len(wanted) == _SHA1_DIGITS else hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            hashed.update(piece)
    return hashed.hexdigest() == wanted


class HubSource:
    """Downloads from a model hub; ``address`` may name a mirror (``HF_ENDPOINT``)."""

    def __init__(self, cache: Path, address: str | None = None, progress: Progress = SILENT) -> None:
        self._cache = cache
        self._address = address or os.environ.get("HF_ENDPOINT", HUB_ADDRESS)
        self._progress = progress

    def faults(self, models: Sequence[str]) -> dict[str, str]:
        if not models:
            return {}
        try:
            request = urllib.request.Request(self._address, method="HEAD")
            with urllib.request.urlopen(request, timeout=_HUB_SECONDS):
                pass
        except urllib.error.HTTPError:
            # The hub answers, which is enough here.
            pass
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            sentence = (
                f"the model hub {self._address} cannot be reached ({reason}): HF_ENDPOINT names a mirror, "
                "and MODELS=folder takes checkpoints from disk"
            )
            return dict.fromkeys(models, sentence)
        return {}

    def downloads(self, checkpoints: Sequence[Checkpoint]) -> list[str]:
        return [
            _download(f"{each.repository} at {each.revision[:12]}", each.size, each.licence) for each in checkpoints
        ]

    def fetch(self, checkpoint: Checkpoint) -> Path:
        return self.fetch_files(checkpoint, checkpoint.files)

    def fetch_files(self, checkpoint: Checkpoint, files: Sequence[str]) -> Path:
        """The local folder of a checkpoint with these ``files``, which are downloaded first if they are missing."""
        folder = self._cache / checkpoint.repository
        for file in files:
            self._download(checkpoint, file, folder)
        return folder

    def fetch_own(self, checkpoint: Checkpoint) -> Path:
        """The local folder of an operator's checkpoint, all of whose files that exports read are downloaded first.

        No list has their hashes: each file must have the one that the hub names for the commit.
        """
        folder = self._cache / checkpoint.repository / checkpoint.revision
        if not (done := folder / _COMPLETE).is_file():
            for file in OWN_FILES[checkpoint.kind]:
                with suppress(MissingFileError):
                    self._download(checkpoint, file, folder)
            self._download_weights(checkpoint, folder)
            done.touch()
        return folder

    def _download_weights(self, checkpoint: Checkpoint, folder: Path) -> None:
        """Download the first file of weights that there is, and the files that it names if it is an index."""
        for file in (*WEIGHTS, CTRANSLATE2):
            try:
                self._download(checkpoint, file, folder)
            except MissingFileError:
                continue
            named = read_json(folder / file).get("weight_map", {}) if file.endswith(".json") else {}
            if not isinstance(named, dict):
                raise SourceError(f"{folder / file} names no files of weights")
            # A name with folders could be anywhere.
            for part in sorted({Path(str(name)).name for name in named.values()}):
                self._download(checkpoint, part, folder)
            return
        raise SourceError(f"{checkpoint.repository} has no weights: neither {WEIGHTS[0]} nor {WEIGHTS[1]}")

    def _downloaded(self, checkpoint: Checkpoint, file: str, folder: Path) -> Path:
        """Download a file. After an interruption, resume as long as each attempt brings more bytes."""
        from huggingface_hub import constants, hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError

        # Xet downloads do not resume.
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
                before, arrived = arrived, bytes_in(folder, _UNFINISHED)
                if arrived <= before:
                    raise

    def _download(self, checkpoint: Checkpoint, file: str, folder: Path) -> None:
        from huggingface_hub import get_hf_file_metadata, hf_hub_url
        from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

        name = f"{checkpoint.repository}/{file}"
        pinned = "" if checkpoint.own else hub_hashes().get(name)
        if pinned is None:
            raise SourceError(
                f"{name} has no SHA-256 in hub.sha256: MODELS=folder takes files that were checked by hand"
            )
        if pinned and (folder / file).is_file():
            if _has_hash(folder / file, pinned):
                return
            # The hub's client takes a file that is there for the one that it downloaded.
            (folder / file).unlink()
        try:
            url = hf_hub_url(checkpoint.repository, file, revision=checkpoint.revision, endpoint=self._address)
            expected = get_hf_file_metadata(url, endpoint=self._address)
            pinned = pinned or expected.etag or ""
            size = expected.size or 1
            with self._progress.downloading(f"{file} ({in_words(size)})", size, lambda: bytes_in(folder, _UNFINISHED)):
                path = self._downloaded(checkpoint, file, folder)
        except EntryNotFoundError:
            raise MissingFileError(f"{checkpoint.repository} has no file {file} at its pinned revision") from None
        except (HfHubHTTPError, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise SourceError(f"{name} could not be downloaded: {reason}") from error
        if not _has_hash(path, pinned):
            path.unlink()
            raise SourceError(f"{name} of {self._address} does not have its pinned hash: what was sent is another file")


class DemoSource:
    """Models that are published as packages."""

    def __init__(self, work: Path, progress: Progress = SILENT) -> None:
        self._work, self._progress = work, progress

    def faults(self, models: Sequence[str]) -> dict[str, str]:
        """None: only pip knows its package indexes, so a missing package fails at its download."""
        return {}

    def downloads(self, checkpoints: Sequence[Checkpoint]) -> list[str]:
        kinds = dict.fromkeys(checkpoint.kind for checkpoint in checkpoints)
        wanted = [PUBLISHED[kind] for kind in kinds if not PUBLISHED[kind].lies_in(self._work / kind)]
        return [_download(each.name, each.download, each.licence) for each in wanted]

    def fetch(self, checkpoint: Checkpoint) -> Path:
        folder = self._work / checkpoint.kind
        packages.fetch(PUBLISHED[checkpoint.kind], folder, self._progress)
        return folder


class Sources:
    """A ``source`` for the catalogue's models, the ``demo`` for Kokoro, and what the operator adds.

    That is the folder of added ``voices`` of Piper, whose descriptions are checked where they are read, and the
    checkpoints of added ``models``, by Triton model: folders, or repositories of the ``hub``.
    """

    def __init__(
        self, source: Source, demo: DemoSource, hub: HubSource, voices: Path | None, models: Mapping[str, Checkpoint]
    ) -> None:
        self._source, self._demo, self._hub, self._voices, self._models = source, demo, hub, voices, models

    def checkpoint_of(self, model: str) -> Checkpoint:
        """The checkpoint of a model; a voice that the catalogue does not have is added."""
        return CHECKPOINTS.get(model) or self._models.get(model, ADDED_VOICES)

    def faults_but_not_all(self, models: Sequence[str]) -> dict[str, str]:
        """Why some of the ``models`` cannot be exported; raises ``SourceError`` if the source can give none of its."""
        given = [model for model in models if not self.checkpoint_of(model).own and model != KOKORO]
        faults = self._source.faults(given)
        if faults and len(faults) == len(given):
            raise SourceError(next(iter(faults.values())))
        return faults

    def faults_of_own(self) -> dict[str, str]:
        """Why added models whose checkpoints are folders cannot be exported."""
        folders = {model: each for model, each in self._models.items() if not each.revision}
        found = {model: _fault(partial(self._check, each)) for model, each in folders.items()}
        return {model: fault for model, fault in found.items() if fault}

    def _check(self, checkpoint: Checkpoint) -> None:
        check_model(self.fetch(checkpoint), checkpoint.kind)

    def downloads(self, checkpoints: Sequence[Checkpoint]) -> list[str]:
        """A line for each checkpoint that ``fetch`` will download, with size and licence."""
        own = [each for each in checkpoints if each.own]
        return [
            *self._source.downloads([each for each in checkpoints if not each.own and each is not KOKORO_82M]),
            *self._demo.downloads([each for each in checkpoints if each is KOKORO_82M]),
            *(f"{each.repository} at {each.revision[:12]}, from the hub" for each in own if each.revision),
        ]

    def fetch(self, checkpoint: Checkpoint) -> Path:
        """The local folder of a checkpoint, which is downloaded first if it is missing."""
        if checkpoint is ADDED_VOICES and self._voices is not None:
            return self._voices
        if not checkpoint.own:
            return (self._demo if checkpoint is KOKORO_82M else self._source).fetch(checkpoint)
        if checkpoint.revision:
            return self._hub.fetch_own(checkpoint)
        if not (folder := Path(checkpoint.repository)).is_dir():
            raise SourceError(f"{folder} is no folder; it must hold a checkpoint")
        return folder


def source_of(
    name: str,
    folder: Path | None,
    work: Path,
    progress: Progress = SILENT,
    voices: Path | None = None,
    models: Mapping[str, Checkpoint] = MappingProxyType({}),
) -> Sources:
    """The source of that ``name``: demo, hub, or folder with the checkpoints in ``folder``; with ``Sources``' own."""
    demo, hub = DemoSource(work / "demo", progress), HubSource(work / "hub", progress=progress)
    sources: dict[str, Source] = {"demo": demo, "hub": hub, "folder": FolderSource(folder or Path())}
    return Sources(sources[name], demo, hub, voices, models)


def styles(
    speakers: Sequence[Speaker], work: Path, progress: Progress = SILENT
) -> tuple[dict[Speaker, Path], dict[str, str]]:
    """The file of each speaker's style, and why others, by voice, have none. Raises ``SourceError`` if none has one."""
    found, without = dict[Speaker, Path](), dict[str, str]()
    for speaker in speakers:
        try:
            found[speaker] = style(speaker, work, progress)
        except SourceError as error:
            without[speaker.voice.name] = str(error)
    if not found:
        raise SourceError(next(iter(without.values())))
    return found, without


def style(speaker: Speaker, work: Path, progress: Progress = SILENT) -> Path:
    """The file of a speaker's style, downloaded first if only the hub has it; raises ``SourceError`` without one."""
    if (path := local_file(speaker)) is None:
        file = hub_file(speaker)
        path = work / "hub" / KOKORO_82M.repository / file
        if not path.is_file():
            HubSource(work / "hub", progress=progress).fetch_files(KOKORO_82M, [file])
    check_file(path, speaker)
    return path
