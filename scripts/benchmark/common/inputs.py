"""Requests of mixed lengths for each operation, the same for the same seed."""

import io
import random
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import soundfile

from client.recordings import SAMPLE_RATE, recordings
from scripts.benchmark.common.sentences import sentences

_TEXTS_A_CALL = 4
_DOCUMENTS = 32
_CLIPS = 32
_SHORTEST, _LONGEST = 8, 500


@dataclass(frozen=True)
class Call:
    """One HTTP request: ``body`` as JSON, or ``file`` with ``fields`` as a form. ``units`` is its amount of work."""

    path: str
    units: float
    body: dict[str, Any] | None = None
    file: bytes | None = field(default=None, repr=False)
    fields: tuple[tuple[str, str], ...] = ()


def _sentences(rng: random.Random, count: int, language: str = "en") -> str:
    return " ".join(text for _, text in rng.choices(sentences(language), k=count))


def _text(rng: random.Random, words: int) -> str:
    return " ".join(_sentences(rng, words).split()[:words])


def _mixed_words(rng: random.Random) -> int:
    """Mostly short texts and some long ones: log-uniform."""
    return int(np.exp(rng.uniform(np.log(_SHORTEST), np.log(_LONGEST))))


def _embedding(rng: random.Random, model: str, voice: str) -> Call:
    lengths = [_mixed_words(rng) for _ in range(_TEXTS_A_CALL)]
    body = {
        "input": [_text(rng, words) for words in lengths],
        "model": model or "embed-m3",
        "encoding_format": "base64",
    }
    return Call("/embeddings", sum(lengths), body)


def _rerank(rng: random.Random, model: str, voice: str) -> Call:
    lengths = [_mixed_words(rng) for _ in range(_DOCUMENTS)]
    documents = [_text(rng, words) for words in lengths]
    body = {"query": _text(rng, 8), "documents": documents, "model": model or "rerank-v2-m3"}
    return Call("/rerank", sum(lengths) + 8 * _DOCUMENTS, body)


def speech_text(rng: random.Random, characters: int, language: str = "en") -> str:
    """Whole sentences of at least ``characters`` together."""
    text = ""
    while len(text) < characters:
        text += _sentences(rng, 1, language) + " "
    return text.strip()


def _speech(rng: random.Random, model: str, voice: str) -> Call:
    text = _sentences(rng, rng.randint(1, 6))
    return Call("/audio/speech", len(text), {"input": text, "voice": voice or "ryan", "model": model or "tts-1"})


@cache
def clip(seed: int, shortest: float = 5.0, longest: float = 15.0) -> tuple[bytes, float]:
    """A WAV file of people's speech, and its length in seconds, between ``shortest`` and ``longest``."""
    rng, people = random.Random(seed), recordings("en")
    wanted = rng.uniform(shortest, longest)
    parts: list[np.ndarray[Any, Any]] = []
    while sum(map(len, parts)) < wanted * SAMPLE_RATE:
        parts += [rng.choice(people).samples(), np.zeros(SAMPLE_RATE // 2, np.float32)]
    samples = (np.concatenate(parts) * 32768).astype(np.int16)[: int(wanted * SAMPLE_RATE)]
    file = io.BytesIO()
    soundfile.write(file, samples, SAMPLE_RATE, "PCM_16", format="WAV")
    return file.getvalue(), len(samples) / SAMPLE_RATE


def _transcription(rng: random.Random, model: str, voice: str) -> Call:
    file, seconds = clip(rng.randrange(_CLIPS))
    return Call("/audio/transcriptions", seconds, file=file, fields=(("model", model or "stt-1"),))


_MAKERS = {"embeddings": _embedding, "rerank": _rerank, "speech": _speech, "transcriptions": _transcription}
# The unit of work of each operation.
UNIT_OF = {
    "embeddings": "tokens",
    "rerank": "tokens",
    "speech": "characters",
    "transcriptions": "seconds of audio",
}


def calls(operation: str, count: int, seed: int, model: str = "", voice: str = "") -> list[Call]:
    """``count`` calls, the same for the same seed."""
    rng = random.Random(seed)
    return [_MAKERS[operation](rng, model, voice) for _ in range(count)]
