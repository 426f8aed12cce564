"""Samples to audio files, written by libsndfile."""

import io
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from soundfile import SoundFile

Samples = NDArray[np.int16]

# By the catalogue's names of audio formats: the container and the coding, in libsndfile's words.
ENCODERS: Mapping[str, tuple[str, str]] = {
    "wav": ("WAV", "PCM_16"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
}
# The bit rates of MP3 in kbit/s from 16 kHz on, and from 32 kHz on.
_MPEG_2, _MPEG_1 = (8, 160), (32, 320)


def to_int16(audio: NDArray[np.float32], floor: float = 0.01) -> Samples:
    """Samples scaled so that the loudest reaches full scale; quieter than ``floor`` is taken as ``floor``.

    The floor is Piper's own and keeps a near-silent sentence from being blown up.
    """
    peak = max(float(np.abs(audio).max(initial=0.0)), floor)
    scaled: Samples = np.clip(audio / peak * 32767, -32767, 32767).astype(np.int16)
    return scaled


class AudioFile:
    """A mono file that is written from its start to its end; ``kbps`` is the constant bit rate of MP3."""

    def __init__(self, audio_format: str, sample_rate: int, kbps: int) -> None:
        container, coding = ENCODERS[audio_format]
        options = _constant(sample_rate, kbps) if container == "MP3" else {}
        self._buffer = io.BytesIO()
        self._file = SoundFile(self._buffer, "w", sample_rate, 1, coding, format=container, **options)

    def add(self, samples: Samples) -> None:
        """More samples."""
        self._file.write(samples)

    def finish(self) -> bytes:
        """The whole file; nothing can be added any more."""
        self._file.close()
        return self._buffer.getvalue()


def _constant(sample_rate: int, kbps: int) -> dict[str, str | float]:
    """A constant bit rate, which libsndfile is told as a part of the way from the highest to the lowest."""
    least, most = _MPEG_2 if sample_rate < 32_000 else _MPEG_1
    # It drops what is behind the point: half of one more keeps the rounding of floats out.
    level = (most - kbps - 0.5) / (most - least)
    return {"bitrate_mode": "CONSTANT", "compression_level": min(1.0, max(0.0, level))}
