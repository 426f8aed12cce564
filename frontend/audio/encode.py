"""Samples to WAV and MP3 files, sentence by sentence."""

import io
import wave
from collections.abc import Mapping
from typing import Protocol

import lameenc
import numpy as np
from numpy.typing import NDArray

_MP3_QUALITY = 5

Samples = NDArray[np.int16]


def to_int16(audio: NDArray[np.float32], floor: float = 0.01) -> Samples:
    """Samples scaled so that the loudest reaches full scale; quieter than ``floor`` is taken as ``floor``.

    The floor is Piper's own and keeps a near-silent sentence from being blown up.
    """
    peak = max(float(np.abs(audio).max(initial=0.0)), floor)
    scaled: Samples = np.clip(audio / peak * 32767, -32767, 32767).astype(np.int16)
    return scaled


class AudioFile(Protocol):
    """A file that is written from its start to its end; ``kbps`` is the bit rate of what is compressed."""

    def __init__(self, sample_rate: int, kbps: int) -> None: ...

    def add(self, samples: Samples) -> None:
        """More samples."""

    def finish(self) -> bytes:
        """The whole file; nothing can be added any more."""


class WavFile:
    """A WAV file with exact sizes: mono, 16 bit."""

    def __init__(self, sample_rate: int, kbps: int = 0) -> None:
        self._buffer = io.BytesIO()
        self._file = wave.open(self._buffer, "wb")  # noqa: SIM115 - it is written to until finish()
        self._file.setnchannels(1)
        self._file.setsampwidth(2)
        self._file.setframerate(sample_rate)

    def add(self, samples: Samples) -> None:
        self._file.writeframesraw(samples.astype("<i2", copy=False).data)

    def finish(self) -> bytes:
        # Closing writes the sizes, and leaves the buffer, which is not the file's own.
        self._file.close()
        return self._buffer.getvalue()


class Mp3File:
    """An MP3 file of constant bit rate, mono."""

    def __init__(self, sample_rate: int, kbps: int) -> None:
        self._buffer = io.BytesIO()
        self._encoder = lameenc.Encoder()
        self._encoder.set_bit_rate(kbps)
        self._encoder.set_in_sample_rate(sample_rate)
        self._encoder.set_out_sample_rate(sample_rate)
        self._encoder.set_channels(1)
        self._encoder.set_quality(_MP3_QUALITY)
        self._encoder.silence()

    def add(self, samples: Samples) -> None:
        self._buffer.write(self._encoder.encode(samples.astype("<i2", copy=False).tobytes()))

    def finish(self) -> bytes:
        self._buffer.write(self._encoder.flush())
        return self._buffer.getvalue()


# By the catalogue's names of audio formats.
ENCODERS: Mapping[str, type[AudioFile]] = {"wav": WavFile, "mp3": Mp3File}
