"""What there is to export: each model's checkpoint, its code's version, and what its export takes."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from frontend.catalogue.models import Served
from frontend.catalogue.voices import TRITON_PREFIX
from scripts.export_models.checkpoints import (
    EMBEDDER,
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

CHECKPOINTS = {
    "m3_embedder": EMBEDDER,
    "m3_reranker": RERANKER,
    "whisper_turbo": WHISPER_TURBO,
    "whisper_large_v3": WHISPER_LARGE,
    **{f"{TRITON_PREFIX}{voice}": VOICES for voice in VOICE_FILES},
}
MODELS = tuple(CHECKPOINTS)
# Raised by each change of what an export writes, so that the next start exports anew: of the code here, of the texts it
# calibrates on, of the demo's voices, and of the libraries that write files.
EXPORT_VERSION = 2
# The exit codes of an export in which no model could be exported, and in which others than some could.
NONE_LEFT, SOME_FAILED = 2, 3
# That of --stale where a model is to be exported.
STALE = 1
# What the libraries take before any weights, and a byte of a checkpoint's weights at the most: M3 takes 5.8 GB for 2.3,
# and maps these.
# Whispers lie there in fp16, and the original that they are compared with is in fp32.
_BASE_MEMORY = 700_000_000
_MEMORY_A_BYTE = {"text": 3.1, "whisper": 3.0, "voices": 1.0}
# Bytes that the process that exports a text model may hold, mapped files aside; it is ended where it holds more.
TEXT_MEMORY = 8_000_000_000
# Of one processor; rough, so that people know whether to wait or to come back.
_BASE_SECONDS = 20.0
_SECONDS_A_GB = {"text": 300.0, "whisper": 500.0, "voices": 60.0}


def check_catalogue() -> None:
    """``SourceError`` where the models here are not those of the catalogue."""
    if differing := set(MODELS) ^ set(Served.of().triton_models):
        raise SourceError(f"frontend/catalogue and scripts/export_models differ: {', '.join(sorted(differing))}")


def voice_of(model: str) -> str:
    """The voice that a model speaks with, or nothing for a model that is no voice."""
    return model.removeprefix(TRITON_PREFIX) if model.startswith(TRITON_PREFIX) else ""


def weights_of(model: str, folder: Path) -> list[Path]:
    """The files in a checkpoint's ``folder`` that a model is made of."""
    voice = voice_of(model)
    return voice_files(folder, voice) if voice else files_read(folder)


def checkpoints_of(models: Sequence[str]) -> list[Checkpoint]:
    """The checkpoints of ``models``, each once."""
    return list(dict.fromkeys(CHECKPOINTS[model] for model in models))


def most_memory(model: str) -> float:
    """Bytes that the export of a model may take."""
    return TEXT_MEMORY if CHECKPOINTS[model].kind == "text" else float("inf")


def memory(sizes: Mapping[Checkpoint, int]) -> float:
    """Bytes of memory that an export of checkpoints of these ``sizes`` may take: what the largest takes."""
    return max(_BASE_MEMORY + size * _MEMORY_A_BYTE[checkpoint.kind] for checkpoint, size in sizes.items())


def seconds(sizes: Mapping[Checkpoint, int], threads: int) -> float:
    """How long it takes, about."""
    its = (_BASE_SECONDS + size / 1e9 * _SECONDS_A_GB[checkpoint.kind] for checkpoint, size in sizes.items())
    return sum(its) / threads
