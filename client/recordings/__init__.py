"""Recordings of people with transcripts, one folder per language. ``ATTRIBUTION.md`` names their owners."""

import json
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE = 16_000
_WORD = re.compile(r"[^\W_]+")
_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Recorded:
    """One recording of ``seconds``, in which a person says ``text``; ``language`` is a code such as ``de``."""

    language: str
    name: str
    text: str
    seconds: float

    @property
    def path(self) -> Path:
        """The file, in G.722."""
        return _FOLDER / self.language / f"{self.name}.g722"

    def samples(self) -> NDArray[np.float32]:
        """Mono [samples] at 16 kHz, from -1 to 1."""
        return read_g722(self.path) / np.float32(32768)


def read_g722(path: Path) -> NDArray[np.int16]:
    """The samples of a file, mono [samples] at 16 kHz."""
    with av.open(str(path), format="g722") as file:
        parts = [frame.to_ndarray().reshape(-1) for frame in file.decode(audio=0)]
    samples: NDArray[np.int16] = np.concatenate(parts).astype(np.int16)
    return samples


def recordings(*languages: str, most: int | None = None) -> list[Recorded]:
    """Recordings of the given languages (default: all), at most ``most`` each, in the order of ``transcripts.json``."""
    transcripts = json.loads((_FOLDER / "transcripts.json").read_text(encoding="utf-8"))
    return [
        Recorded(language, **each) for language in languages or transcripts for each in transcripts[language][:most]
    ]


def words(text: str) -> list[str]:
    """The words in lower case, without punctuation, split at apostrophes and hyphens."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower())
