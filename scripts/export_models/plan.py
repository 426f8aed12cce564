"""The models to export: their checkpoints, the version of the export, its memory and its duration."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from frontend.catalogue.kokoro import Speaker
from frontend.catalogue.models import Served
from frontend.catalogue.voices import KOKORO, TRITON_PREFIX
from scripts.export_models.checkpoints import (
    EMBEDDER,
    KOKORO_82M,
    RERANKER,
    VOICE_FILES,
    VOICES,
    WHISPER_LARGE,
    WHISPER_TURBO,
    Checkpoint,
    SourceError,
    files_read,
    voice_files,
)

# The models of the contract, and that of Kokoro's voices, which speaks some of them in the demo.
CHECKPOINTS: dict[str, Checkpoint] = {
    "m3_embedder": EMBEDDER,
    "m3_reranker": RERANKER,
    "whisper_turbo": WHISPER_TURBO,
    "whisper_large_v3": WHISPER_LARGE,
    **{f"{TRITON_PREFIX}{voice}": VOICES for voice in VOICE_FILES},
    KOKORO: KOKORO_82M,
}
ALL_MODELS = tuple(CHECKPOINTS)
MODELS = tuple(model for model in ALL_MODELS if model != KOKORO)
# Raise it with each change of what an export writes, so that the next start exports again: with changes of the code
# here, of the calibration texts, of the demo's voices, and of the libraries that write files.
EXPORT_VERSION = 3
# Changes of what is written for one kind of checkpoint alone: for voices a sample and a pass less, for Whisper an
# encoder of windows of any length, for texts a number of tokens that is rounded up.
_OWN_CHANGES = {"voices": 2, "whisper": 1, "text": 1}
# Exit codes: no model could be exported; some could not.
NONE_LEFT, SOME_FAILED = 2, 3
# The exit code of --stale if a model is out of date.
STALE = 1
# Bytes of memory for the export of a text model, without mapped files. M3 takes 5.8 GB.
TEXT_MEMORY = 8_000_000_000
# On one processor, a rough estimate: per checkpoint, and per GB of its weights.
_BASE_SECONDS = 20.0
_SECONDS_PER_GB = {"text": 300.0, "whisper": 500.0, "voices": 60.0, "kokoro": 300.0}


def check_catalogue() -> None:
    """Raise ``SourceError`` if the models here are not those of the catalogue."""
    if differing := set(MODELS) ^ set(Served.of().triton_models):
        raise SourceError(f"frontend/catalogue and scripts/export_models differ: {', '.join(sorted(differing))}")


def models_of(speakers: Sequence[Speaker]) -> tuple[str, ...]:
    """The models to export: those of the contract, with Kokoro's for the voices of the ``speakers``."""
    spoken = {f"{TRITON_PREFIX}{speaker.voice.name}" for speaker in speakers}
    return (*(model for model in MODELS if model not in spoken), *([KOKORO] if speakers else ()))


def voice_of(model: str) -> str:
    """The voice of a model, or "" if the model is no voice."""
    return model.removeprefix(TRITON_PREFIX) if model.startswith(TRITON_PREFIX) else ""


def version_of(checkpoint: Checkpoint) -> int:
    """The version of what an export of the checkpoint writes."""
    return EXPORT_VERSION + _OWN_CHANGES.get(checkpoint.kind, 0)


def weights_of(model: str, folder: Path) -> list[Path]:
    """The files in a checkpoint's ``folder`` that the export of a model reads."""
    voice = voice_of(model)
    return voice_files(folder, voice) if voice else files_read(folder)


def seconds(sizes: Mapping[Checkpoint, int], threads: int) -> float:
    """Estimate how long the export of checkpoints takes; ``sizes`` are the bytes of their weights."""
    of_each = (_BASE_SECONDS + size / 1e9 * _SECONDS_PER_GB[checkpoint.kind] for checkpoint, size in sizes.items())
    return sum(of_each) / threads
