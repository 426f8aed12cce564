"""The pinned checkpoints of the models, and the checks of their files that read no weights."""

import errno
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from frontend.catalogue.models import MODELS, Model


class SourceError(Exception):
    """A checkpoint is unavailable or wrong; the message is one sentence."""


class MissingFileError(SourceError):
    """A repository of the hub has no such file."""


class DiskFullError(SourceError):
    """There is no room left, or no quota."""


@contextmanager
def full_disk_in_words() -> Iterator[None]:
    """Make a ``DiskFullError`` of an error of the system that means it."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        place = f" of {error.filename}" if error.filename else ""
        raise DiskFullError(f"the disk{place} is full: make room and start again; what is finished stays") from error


HUB_ADDRESS = "https://huggingface.co"
Kind = Literal["text", "whisper", "voices", "kokoro"]


@dataclass(frozen=True)
class Checkpoint:
    """A pinned repository of the hub: the files that the export reads, with licence and bytes to download.

    One that is the operator's ``own`` may be a folder, whose path is the ``repository``; then it has no revision.
    """

    repository: str
    revision: str
    licence: str
    size: int
    files: tuple[str, ...]
    kind: Kind = "text"
    own: bool = False


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
# Each of these has the weights, or names the files that have them.
WEIGHTS = ("model.safetensors", "pytorch_model.bin", "model.safetensors.index.json", "pytorch_model.bin.index.json")
# The layer of M3 that weighs tokens, beside its weights.
TOKEN_HEAD = "sparse_linear.pt"
# The files besides the weights that are read of an operator's checkpoint, where it has them.
OWN_FILES = {
    "text": (
        *_TEXT_FILES,
        "1_Pooling/config.json",
        "config_sentence_transformers.json",
        "modules.json",
        "quartet.json",
        "sentence_bert_config.json",
        TOKEN_HEAD,
    ),
    "whisper": (*(name for name in _WHISPER_FILES if name != "model.safetensors"), "vocabulary.json", "vocabulary.txt"),
}
# Files that every export needs, and the model types that config.json may name.
_NEEDED = {
    "text": ("config.json", "tokenizer.json"),
    "whisper": ("config.json", "tokenizer.json", "generation_config.json", "preprocessor_config.json"),
}
# Encoders whose packed graphs are written here, and those that optimum exports, whose answers do not depend on padding.
PACKED_TYPES = ("bert", "xlm-roberta")
PADDED_TYPES = (
    "albert",
    "camembert",
    "data2vec-text",
    "deberta",
    "deberta-v2",
    "distilbert",
    "electra",
    "ibert",
    "megatron-bert",
    "mobilebert",
    "modernbert",
    "mpnet",
    "rembert",
    "roberta",
    "roformer",
    "squeezebert",
)
_MODEL_TYPES = {"text": (*PACKED_TYPES, *PADDED_TYPES), "whisper": ("whisper",)}
# Files at the top of a checkpoint that exports read. Others, such as pictures, do not change an export.
_READ = {".json", ".txt", ".model", ".safetensors", ".bin"}
_POOLING = "1_Pooling/config.json"
_LONGEST_WINDOW_SECONDS = 30
# What git leaves in place of a file that only Git LFS fetches.
_POINTER = b"version https://git-lfs.github.com/"
# The weights of a Whisper as CTranslate2 and faster-whisper have it.
CTRANSLATE2 = "model.bin"
# RoBERTa and its kin do not use their first two positions.
_FIRST_POSITION = dict.fromkeys(("camembert", "data2vec-text", "mpnet", "roberta", "xlm-roberta"), 2)
# What the catalogue promises of text models, by their names in Triton.
PROMISES = {model.triton_model: model for model in MODELS.values() if model.max_tokens}


def _voice(path: str) -> tuple[str, str]:
    return f"{path}.onnx", f"{path}.onnx.json"


WHISPER_TURBO = Checkpoint(
    "openai/whisper-large-v3-turbo",
    "41f01f3fe87f28c78e2fbf8b568835947dd65ed9",
    "MIT",
    1_600_000_000,
    _WHISPER_FILES,
    "whisper",
)
WHISPER_LARGE = Checkpoint(
    "openai/whisper-large-v3",
    "06f233fe06e710322aca913c1bc4249a0d71fce1",
    "Apache-2.0",
    3_100_000_000,
    _WHISPER_FILES,
    "whisper",
)
EMBEDDER = Checkpoint(
    "BAAI/bge-m3",
    "5617a9f61b028005a4858fdac845db406aefb181",
    "MIT",
    2_300_000_000,
    (*_TEXT_FILES, "sentencepiece.bpe.model", "pytorch_model.bin", TOKEN_HEAD),
)
RERANKER = Checkpoint(
    "BAAI/bge-reranker-v2-m3",
    "953dc6f6f85a1b2dbfca4c34a2796e7dde08d41e",
    "Apache-2.0",
    2_300_000_000,
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
    350_000_000,
    tuple(file for path in VOICE_FILES.values() for file in _voice(path)),
    "voices",
)
# Its graph is a demo package. The hub, at this revision, has its styles.
KOKORO_GRAPH = "kokoro-v1.0.int8.onnx"
KOKORO_82M = Checkpoint(
    "onnx-community/Kokoro-82M-v1.0-ONNX",
    "1939ad2a8e416c0acfeecc08a694d14ef25f2231",
    "Apache-2.0",
    92_361_271,
    (),
    "kokoro",
)

# The folder of added voices, which has its own files.
ADDED_VOICES = Checkpoint("added voices", "", "", 0, (), "voices", own=True)


@cache
def hub_hashes() -> dict[str, str]:
    """The SHA-256 of each file of the hub that an export reads, by ``repository/file``, at the pinned commits."""
    lines = Path(__file__).with_name("hub.sha256").read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def in_words(size: float) -> str:
    """Bytes as people read them: 1.6 GB, 23 MB."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def bytes_in(folder: Path, pattern: str = "*") -> int:
    """The bytes of the files below ``folder`` whose names match ``pattern``."""
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


def voice_files(folder: Path, voice: str) -> list[Path]:
    """The two files of a voice in a folder laid out as the hub, or of an added voice in its folder."""
    return [folder / name for name in _voice(VOICE_FILES.get(voice, voice))]


def files_read(folder: Path) -> list[Path]:
    """The files of a text model or a Whisper that an export reads, in a fixed order."""
    found = sorted(path for path in folder.iterdir() if _is_read(path.name) and path.is_file())
    pooling = folder / _POOLING
    return [*found, pooling] if pooling.is_file() else found


def _is_read(name: str) -> bool:
    return name == TOKEN_HEAD or Path(name).suffix in _READ


def check_voice(folder: Path, voice: str) -> None:
    """Raise ``SourceError`` for a voice without its graph or with a JSON that maps no phonemes."""
    model, settings = voice_files(folder, voice)
    if not model.is_file() or not model.stat().st_size:
        raise SourceError(f"{model} is missing or empty")
    if "phoneme_id_map" not in read_json(settings):
        raise SourceError(f"{settings} is no Piper voice's: it has no phoneme_id_map")


def check_model(folder: Path, kind: Kind) -> None:
    """Raise ``SourceError`` for a text model or a Whisper that lacks a file, has a pointer for one, or is of another
    type. Raises ``OSError`` for a file that cannot be read.
    """
    for path in files_read(folder):
        with path.open("rb") as file:
            if file.read(len(_POINTER)) == _POINTER:
                raise SourceError(f"{path} is a pointer of Git LFS: run 'git lfs pull' in the checkpoint's folder")
    if kind == "whisper" and (folder / CTRANSLATE2).is_file():
        for name in ("config.json", "tokenizer.json"):
            read_json(folder / name)
        return
    for name in _NEEDED[kind]:
        read_json(folder / name)
    config = read_json(folder / "config.json")
    found = config.get("model_type")
    if found not in _MODEL_TYPES[kind]:
        wanted = ", ".join(_MODEL_TYPES[kind])
        own = ", whose own code (auto_map) is not run" if "auto_map" in config else ""
        raise SourceError(f"{folder / 'config.json'} describes a model of type {found!r}{own}; there are {wanted}")
    if kind == "whisper":
        _check_windows(folder / "preprocessor_config.json", config)
    weights = [folder / name for name in WEIGHTS if (folder / name).is_file()]
    if not weights:
        raise SourceError(f"{folder} has no weights: neither {WEIGHTS[0]} nor {WEIGHTS[1]}")
    if not weights[0].stat().st_size:
        raise SourceError(f"{weights[0]} is empty")


def _check_windows(path: Path, config: Mapping[str, Any]) -> None:
    """Raise ``SourceError`` for windows that are not the model's: filters of a billion bins would fill the memory."""
    bins, seconds = (read_json(path).get(name) for name in ("feature_size", "chunk_length"))
    if bins != config.get("num_mel_bins") or seconds not in range(1, _LONGEST_WINDOW_SECONDS + 1):
        raise SourceError(f"{path} has windows of {bins} bins and {seconds} s, which are not those of a Whisper")


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file; raises ``SourceError`` if it has none."""
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if text.strip() else None
    except FileNotFoundError:
        raise SourceError(f"{path} is missing") from None
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise SourceError(f"{path} is not JSON") from None
    if not content:
        raise SourceError(f"{path} is empty")
    if not isinstance(content, dict):
        raise SourceError(f"{path} is not a JSON object")
    return content


def stands_in(folder: Path) -> bool:
    """Whether the ``quartet.json`` of a small text checkpoint says that it stands in for a real one.

    Its vectors are padded with zeros to the promised width, and its positions start over in longer texts.
    """
    path = folder / "quartet.json"
    return path.is_file() and read_json(path).get("stands_in") is True


def hidden_width(folder: Path) -> int:
    """The width of a text checkpoint's hidden states, which DistilBERT calls ``dim``."""
    return _number(folder, "hidden_size") or _number(folder, "dim")


def usable_positions(folder: Path) -> int:
    """The longest text, in tokens, that a text checkpoint has positions for."""
    first = _FIRST_POSITION.get(read_json(folder / "config.json").get("model_type", ""), 0)
    return _number(folder, "max_position_embeddings") - first


def _number(folder: Path, name: str) -> int:
    value = read_json(folder / "config.json").get(name, 0)
    if type(value) is not int:
        raise SourceError(f"{folder / 'config.json'} has the {name} {value!r}, which is no whole number")
    return value


def is_packed(folder: Path) -> bool:
    """Whether the graph of a text checkpoint is written here: not where the texts of a pair have types of tokens, nor
    with other activations or positions than usual.
    """
    config = read_json(folder / "config.json")
    has_head = any("SequenceClassification" in name for name in config.get("architectures", ()))
    is_usual = (
        config.get("hidden_act", "gelu") == "gelu" and config.get("position_embedding_type", "absolute") == "absolute"
    )
    is_known = is_usual and config.get("model_type") in PACKED_TYPES
    return is_known and not (has_head and config.get("type_vocab_size", 2) > 1)


def check_promise(promise: Model, folder: Path) -> None:
    """Raise ``SourceError`` for a checkpoint with another width or shorter texts than the model promises."""
    model = promise.triton_model
    # optimum's graph neither pads vectors nor starts positions over.
    positions, small = usable_positions(folder), stands_in(folder) and is_packed(folder)
    width = hidden_width(folder)
    if promise.width and not (width == promise.width or (small and width < promise.width)):
        raise SourceError(f"{folder} gives vectors of {width} numbers, and {model} promises {promise.width}")
    if positions < promise.max_tokens and not small:
        raise SourceError(f"{folder} has {positions} positions, and {model} takes texts of {promise.max_tokens} tokens")
