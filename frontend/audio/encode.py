"""Encodes samples as audio files, by libsndfile and FFmpeg, whole or piece by piece."""

import io
from collections.abc import Mapping
from typing import IO, cast

import av
import numpy as np
from av.audio.stream import AudioStream as LibavStream
from numpy.typing import NDArray
from soundfile import SoundFile

Samples = NDArray[np.int16]

# Container and coding in libsndfile's terms, by audio format.
_LIBSNDFILE: Mapping[str, tuple[str, str]] = {
    "wav": ("WAV", "PCM_16"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
}
# Container, codec, samples per second (0 is the voice's) and bits per second (0 is lossless) in FFmpeg's terms.
Coding = tuple[str, str, int, int]
LIBAV: Mapping[str, Coding] = {
    "opus": ("ogg", "libopus", 24_000, 32_000),
    "aac": ("adts", "aac", 0, 64_000),
    "flac": ("flac", "flac", 0, 0),
    # As OpenAI's.
    "pcm": ("s16le", "pcm_s16le", 24_000, 0),
}
ENCODERS = frozenset(_LIBSNDFILE) | frozenset(LIBAV)
# Microseconds of a page of Ogg: what may stay behind while the next sentence is spoken.
_PAGE = "200000"
# Bit rates of MP3 in kbit/s: lowest and highest, from 16 kHz and from 32 kHz.
_MPEG_2, _MPEG_1 = (8, 160), (32, 320)


def to_int16(audio: NDArray[np.float32], floor: float) -> Samples:
    """Scale samples to int16 so that the loudest reaches full scale.

    A peak below ``floor`` counts as ``floor``, so that a quiet sentence stays quiet.
    """
    peak = max(float(np.abs(audio).max(initial=0.0)), floor)
    scaled: Samples = np.clip(audio / peak * 32767, -32767, 32767).astype(np.int16)
    return scaled


class AudioFile:
    """A mono file, written in order. ``kbps`` is the constant bit rate of MP3."""

    def __init__(self, audio_format: str, sample_rate: int, kbps: int) -> None:
        self._buffer = io.BytesIO()
        self._encoder = encoder(self._buffer, LIBAV, audio_format, sample_rate, kbps)

    def add(self, samples: Samples) -> None:
        """Append samples."""
        self._encoder.add(samples)

    def finish(self) -> bytes:
        """The whole file; nothing can be added afterwards."""
        self._encoder.close()
        return self._buffer.getvalue()


def encoder(
    file: IO[bytes], libav: Mapping[str, Coding], audio_format: str, sample_rate: int, kbps: int
) -> "_Libav | _Libsndfile":
    if audio_format in libav:
        return _Libav(file, libav[audio_format], sample_rate)
    return _Libsndfile(file, audio_format, sample_rate, kbps)


class _Libsndfile:
    def __init__(self, file: IO[bytes], audio_format: str, sample_rate: int, kbps: int) -> None:
        container, coding = _LIBSNDFILE[audio_format]
        options = _constant(sample_rate, kbps) if container == "MP3" else {}
        self._file = SoundFile(file, "w", sample_rate, 1, coding, format=container, **options)

    def add(self, samples: Samples) -> None:
        self._file.write(samples)

    def close(self) -> None:
        self._file.close()


class _Libav:
    def __init__(self, file: IO[bytes], coding: Coding, sample_rate: int) -> None:
        container, codec, rate, bits = coding
        options = {"page_duration": _PAGE} if container == "ogg" else {}
        # Without "bitexact", a file names the version of FFmpeg.
        self._file = av.open(file, "w", format=container, options=options | {"fflags": "+bitexact"})
        self._stream = cast(LibavStream, self._file.add_stream(codec, rate=rate or sample_rate, layout="mono"))
        if bits:
            self._stream.bit_rate = bits
        self._sample_rate = sample_rate

    def add(self, samples: Samples) -> None:
        frame = av.AudioFrame.from_ndarray(samples[np.newaxis], "s16", "mono")
        frame.sample_rate = self._sample_rate
        # FFmpeg resamples, and cuts into the frames of the codec.
        self._file.mux(self._stream.encode(frame))

    def close(self) -> None:
        self._file.mux(self._stream.encode(None))
        self._file.close()


def _constant(sample_rate: int, kbps: int) -> dict[str, str | float]:
    """Options for a constant bit rate. libsndfile scales it from 0 (highest) to 1 (lowest)."""
    least, most = _MPEG_2 if sample_rate < 32_000 else _MPEG_1
    # libsndfile truncates: half a unit more avoids errors from float rounding.
    level = (most - kbps - 0.5) / (most - least)
    return {"bitrate_mode": "CONSTANT", "compression_level": min(1.0, max(0.0, level))}
