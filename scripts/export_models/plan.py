"""What there is to export: each model's checkpoint and code, what it takes, and how the work is shared out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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
)

CHECKPOINTS = {
    "m3_embedder": EMBEDDER,
    "m3_reranker": RERANKER,
    "whisper_turbo": WHISPER_TURBO,
    "whisper_large_v3": WHISPER_LARGE,
    **{f"{TRITON_PREFIX}{voice}": VOICES for voice in VOICE_FILES},
}
MODELS = tuple(CHECKPOINTS)
# The exit codes of an export in which no model could be exported, and in which others than some could.
NONE_LEFT, SOME_FAILED = 2, 3
# Models of more memory are given two threads each at least: that is faster for them than one beside another, and takes
# less memory. Threads that share small matrices wait for each other most of the time.
_LARGE = 3e9
# What the libraries take before any weights, and a byte of a checkpoint's weights at the most: M3 takes 5.8 GB for 2.3,
# and maps these.
# Whispers lie there in fp16, and the original that they are compared with is in fp32.
_BASE_MEMORY = 700_000_000
_MEMORY_A_BYTE = {"text": 3.1, "whisper": 3.0, "voices": 1.0}
# Bytes that the process that exports a text model may hold, mapped files aside; it ends where it holds more.
TEXT_MEMORY = 8_000_000_000
# Of one processor; rough, so that people know whether to wait or to come back.
_BASE_SECONDS = 20.0
_SECONDS_A_GB = {"text": 300.0, "whisper": 500.0, "voices": 60.0}


@dataclass(frozen=True)
class Task:
    """Models that one process exports one after the other; ``seconds`` are of one processor, ``memory`` is in bytes."""

    models: tuple[str, ...]
    seconds: float
    memory: float


@dataclass(frozen=True)
class Lane:
    """One process: what it does, and on how many threads."""

    models: tuple[str, ...]
    threads: int


def check_catalogue() -> None:
    """``SourceError`` where the models here are not those of the catalogue."""
    if differing := set(MODELS) ^ set(Served.of().triton_models):
        raise SourceError(f"frontend/catalogue and scripts/export_models differ: {', '.join(sorted(differing))}")


def voice_of(model: str) -> str:
    """The voice that a model speaks with, or nothing for a model that is no voice."""
    return model.removeprefix(TRITON_PREFIX) if model.startswith(TRITON_PREFIX) else ""


def most_memory(model: str) -> int | None:
    """Bytes that the export of a model may take, where there is a limit."""
    return TEXT_MEMORY if CHECKPOINTS[model].kind == "text" else None


def checkpoints_of(models: Sequence[str]) -> list[Checkpoint]:
    """The checkpoints of ``models``, each once."""
    return list(dict.fromkeys(CHECKPOINTS[model] for model in models))


def works(fingerprints: Mapping[str, str], sizes: Mapping[Checkpoint, int]) -> list[Task]:
    """The work of each checkpoint of ``sizes`` bytes.

    Voices stay together, since they are fetched together, and so do Whispers of one fingerprint, of which one is made.
    """
    found: dict[str, Task] = {}
    for checkpoint, size in sizes.items():
        memory = _BASE_MEMORY + size * _MEMORY_A_BYTE[checkpoint.kind]
        seconds = _BASE_SECONDS + size / 1e9 * _SECONDS_A_GB[checkpoint.kind]
        for model in [model for model in fingerprints if CHECKPOINTS[model] == checkpoint]:
            together = {"text": model, "whisper": fingerprints[model], "voices": checkpoint.kind}[checkpoint.kind]
            before = found.get(together, Task((), seconds, memory))
            found[together] = replace(before, models=(*before.models, model))
    return list(found.values())


def share_out(todo: Sequence[Task], processors: int, memory: int) -> list[Lane]:
    """As many processes side by side as processors and memory allow."""
    threads_each = 2 if any(work.memory > _LARGE for work in todo) else 1
    count = max(1, min(len(todo), processors // threads_each))
    shares = _split(todo, count)
    while count > 1 and sum(max(work.memory for work in share) for share in shares) > memory:
        count -= 1
        shares = _split(todo, count)
    threads = max(1, processors // len(shares))
    # What a process has not given back of a large model does not count against the limit of a smaller one.
    ordered = [sorted(share, key=lambda work: work.memory) for share in shares]
    return [Lane(tuple(model for work in share for model in work.models), threads) for share in ordered]


def _split(todo: Sequence[Task], count: int) -> list[list[Task]]:
    """Longest first, each to whoever is free first."""
    shares: list[list[Task]] = [[] for _ in range(count)]
    for work in sorted(todo, key=lambda work: -work.seconds):
        min(shares, key=lambda share: sum(other.seconds for other in share)).append(work)
    return shares


def seconds_in_all(todo: Sequence[Task], lanes: Sequence[Lane]) -> float:
    """How long the longest lane takes, about."""
    return max(sum(w.seconds for w in todo if w.models[0] in lane.models) / lane.threads for lane in lanes)
