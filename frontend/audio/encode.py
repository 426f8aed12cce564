"""Encodes samples as audio files, by libsndfile."""

import io
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from soundfile import SoundFile

Samples = NDArray[np.int16]

# Container and coding in libsndfile's terms, by audio format.
ENCODERS: Mapping[str, tuple[str, str]] = {
    "wav": ("WAV", "PCM_16"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
}
# Bit rates of MP3 in kbit/s: lowest and highest, from 16 kHz and from 32 kHz.
_MPEG_2, _MPEG_1 = (8, 160), (32, 320)


def to_int16(audio: NDArray[np.float32], floor: float = 0.01) -> Samples:
    """Scale samples to int16 so that the loudest reaches full scale.

    A peak below ``floor`` counts as ``floor``, Piper's own value, so that a near-silent sentence stays quiet.
    """
    peak = max(float(np.abs(audio).max(initial=0.0)), floor)
    scaled: Samples = np.clip(audio / peak * 32767, -32767, 32767).astype(np.int16)
    return scaled


class AudioFile:
    """A mono file, written in order. ``kbps`` is the constant bit rate of MP3."""

    def __init__(self, audio_format: str, sample_rate: int, kbps: int) -> None:
        container, coding = ENCODERS[audio_format]
        options = _constant(sample_rate, kbps) if container == "MP3" else {}
        self._buffer = io.BytesIO()
        self._file = SoundFile(self._buffer, "w", sample_rate, 1, coding, format=container, **options)

    def add(self, samples: Samples) -> None:
        """Append samples."""
        self._file.write(samples)

    def finish(self) -> bytes:
        """The whole file; nothing can be added afterwards."""
        self._file.close()
        return self._buffer.getvalue()


def _constant(sample_rate: int, kbps: int) -> dict[str, str | float]:
    """Options for a constant bit rate. libsndfile scales it from 0 (highest) to 1 (lowest)."""
    least, most = _MPEG_2 if sample_rate < 32_000 else _MPEG_1
    # libsndfile truncates: half a unit more avoids errors from float rounding.
    level = (most - kbps - 0.5) / (most - least)
    return {"bitrate_mode": "CONSTANT", "compression_level": min(1.0, max(0.0, level))}
