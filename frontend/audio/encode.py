"""Samples to WAV and MP3 files."""

import io
import wave

import lameenc
import numpy as np
from numpy.typing import NDArray

_MP3_QUALITY = 5


def to_int16(audio: NDArray[np.float32], floor: float = 0.01) -> NDArray[np.int16]:
    """Samples scaled so that the loudest reaches full scale; quieter than ``floor`` is taken as ``floor``.

    The floor is Piper's own and keeps a near-silent sentence from being blown up.
    """
    peak = max(float(np.abs(audio).max(initial=0.0)), floor)
    scaled: NDArray[np.int16] = np.clip(audio / peak * 32767, -32767, 32767).astype(np.int16)
    return scaled


def join(sentences: list[NDArray[np.int16]], sample_rate: int, pause_seconds: float) -> NDArray[np.int16]:
    """Sentences in order with silence between them."""
    pause = np.zeros(int(pause_seconds * sample_rate), np.int16)
    parts = [sentences[0]]
    for sentence in sentences[1:]:
        parts += [pause, sentence]
    return np.concatenate(parts)


def to_wav(samples: NDArray[np.int16], sample_rate: int) -> bytes:
    """A WAV file with exact sizes: mono, 16 bit."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(samples.astype("<i2").tobytes())
    return buffer.getvalue()


def to_mp3(samples: NDArray[np.int16], sample_rate: int, kbps: int) -> bytes:
    """An MP3 file of constant bit rate, mono."""
    encoder = lameenc.Encoder()
    encoder.set_bit_rate(kbps)
    encoder.set_in_sample_rate(sample_rate)
    encoder.set_out_sample_rate(sample_rate)
    encoder.set_channels(1)
    encoder.set_quality(_MP3_QUALITY)
    encoder.silence()
    return bytes(encoder.encode(samples.astype("<i2").tobytes()) + encoder.flush())
