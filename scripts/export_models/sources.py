"""Where checkpoints come from: the model hub, a folder of the same layout, or the demo's packages.

Hub downloads are pinned to a revision and resume after an interruption. Every file is checked against its SHA-256 in
``hub.sha256``, whatever the hub or its mirror says of it.
"""

import hashlib
import os
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from frontend.catalogue.kokoro import Speaker
from scripts.export_models.checkpoints import (
    ADDED_VOICES,
    HUB_ADDRESS,
    KOKORO_82M,
    PROMISES,
    Checkpoint,
    SourceError,
    bytes_in,
    check_model,
    check_promise,
    check_voice,
    hub_hashes,
    in_words,
)
from scripts.export_models.demo import packages
from scripts.export_models.demo.published import PUBLISHED
from scripts.export_models.kokoro.styles import check_file, hub_file, local_file
from scripts.export_models.plan import CHECKPOINTS, checkpoint_of, voice_of
from scripts.export_models.progress import SILENT, Progress

# Checkpoints that no source has.
_OWN = (ADDED_VOICES, KOKORO_82M)
# The longest wait for the hub's first answer.
_HUB_SECONDS = 10
# The hub's client gives unfinished downloads these names.
_UNFINISHED = "*.incomplete"


class Source(Protocol):
    """Provides checkpoints."""

    def faults(self, models: Sequence[str]) -> dict[str, str]:
        """The ``models`` that cannot be exported, each with the reason, as far as a check of seconds finds."""

    def downloads(self, checkpoints: Sequence[Checkpoint]) -> list[str]:
        """A line for each checkpoint that ``fetch`` will download, with size and licence."""

    def fetch(self, checkpoint: Checkpoint) -> Path:
        """The local folder of a checkpoint, which is downloaded first if it is missing."""


def faults_but_not_all(source: Source, models: Sequence[str]) -> dict[str, str]:
    """Why some of the ``models`` cannot be exported; raises ``SourceError`` if the source can give none."""
    faults = source.faults(models)
    if faults and len(faults) == sum(checkpoint_of(model) not in _OWN for model in models):
        raise SourceError(next(iter(faults.values())))
    return faults


def _download(name: str, size: int, licence: str) -> str:
    return f"{name}: {in_words(size)} to download, licence {licence}"


class FolderSource:
    """Checkpoints laid out as on the hub: ``<folder>/openai/whisper-large-v3-turbo/config.json``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def faults(self, models: Sequence[str]) -> dict[str, str]:
        found = {}
        for model in models:
            try:
                self._check(model)
            except SourceError as error:
                found[model] = str(error)
        return found

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


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
        if (pinned := hub_hashes().get(name)) is None:
            raise SourceError(
                f"{name} has no SHA-256 in hub.sha256: MODELS=folder takes files that were checked by hand"
            )
        if (folder / file).is_file():
            if _digest(folder / file) == pinned:
                return
            # The hub's client takes a file that is there for the one that it downloaded.
            (folder / file).unlink()
        try:
            url = hf_hub_url(checkpoint.repository, file, revision=checkpoint.revision, endpoint=self._address)
            expected = get_hf_file_metadata(url, endpoint=self._address)
            size = expected.size or 1
            with self._progress.downloading(f"{file} ({in_words(size)})", size, lambda: bytes_in(folder, _UNFINISHED)):
                path = self._downloaded(checkpoint, file, folder)
        except EntryNotFoundError:
            raise SourceError(f"{checkpoint.repository} has no file {file} at its pinned revision") from None
        except (HfHubHTTPError, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise SourceError(f"{name} could not be downloaded: {reason}") from error
        if _digest(path) != pinned:
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


class WithOwnVoices:
    """A ``source``, with Kokoro from the ``demo`` and the folder of added voices of Piper.

    The descriptions of these are checked where they are read, and Kokoro's packages when they are downloaded.
    """

    def __init__(self, source: Source, demo: DemoSource, voices: Path | None) -> None:
        self._source, self._demo, self._voices = source, demo, voices

    def faults(self, models: Sequence[str]) -> dict[str, str]:
        return self._source.faults([model for model in models if checkpoint_of(model) not in _OWN])

    def downloads(self, checkpoints: Sequence[Checkpoint]) -> list[str]:
        packages = [each for each in checkpoints if each is KOKORO_82M]
        others = [each for each in checkpoints if each not in _OWN]
        return [*self._source.downloads(others), *self._demo.downloads(packages)]

    def fetch(self, checkpoint: Checkpoint) -> Path:
        if checkpoint is ADDED_VOICES and self._voices is not None:
            return self._voices
        return (self._demo if checkpoint is KOKORO_82M else self._source).fetch(checkpoint)


def source_of(
    name: str, folder: Path | None, work: Path, progress: Progress = SILENT, voices: Path | None = None
) -> Source:
    """The source of that ``name``: demo, hub, or folder with the checkpoints in ``folder``; and added ``voices``."""
    demo = DemoSource(work / "demo", progress)
    sources: dict[str, Source] = {
        "demo": demo,
        "hub": HubSource(work / "hub", progress=progress),
        "folder": FolderSource(folder or Path()),
    }
    return WithOwnVoices(sources[name], demo, voices)


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
