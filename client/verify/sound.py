"""Sound: WAV files and joining."""

import io
import wave
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import soundfile
from numpy.typing import NDArray

from client.verify.questions import RefusedError

# Share of the loudest sample above which a sample is speech.
_SPEECH = 0.01

Samples = NDArray[np.int16]


@dataclass(frozen=True)
class Sound:
    """Mono samples [n] at ``rate`` per second."""

    samples: Samples
    rate: int

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate

    @property
    def decibels(self) -> float:
        """The root mean square relative to full scale; -100 for silence."""
        power = float(np.mean((self.samples / 32768.0) ** 2)) if self.samples.size else 0.0
        return 10 * float(np.log10(max(power, 1e-10)))

    def trimmed(self) -> "Sound":
        """The same sound without leading and trailing silence."""
        loud = np.abs(self.samples.astype(np.int32))
        places = np.flatnonzero(loud > _SPEECH * max(int(loud.max(initial=0)), 1))
        return Sound(self.samples[places[0] : places[-1] + 1] if places.size else self.samples[:0], self.rate)


def read_wav(data: bytes) -> Sound:
    """Read a WAV file; ``RefusedError`` unless it is mono with 16 bits."""
    try:
        with wave.open(io.BytesIO(data)) as file:
            layout, rate = (file.getnchannels(), file.getsampwidth()), file.getframerate()
            content = file.readframes(file.getnframes())
    except (wave.Error, EOFError) as error:
        raise RefusedError(f"audio that is no WAV: {error}") from None
    if layout != (1, 2):
        raise RefusedError(f"a WAV of {layout[0]} channels and {8 * layout[1]} bits")
    return Sound(np.frombuffer(content, "<i2"), rate)


def write_wav(sound: Sound) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, sound.samples, sound.rate, "PCM_16", format="WAV")
    return buffer.getvalue()


def joined(sounds: Sequence[Sound], pauses: Sequence[float]) -> tuple[Sound, list[tuple[float, float]]]:
    """The sounds, each after its pause (seconds), with start and end of each in seconds."""
    rate, parts, spans, clock = sounds[0].rate, [], [], 0
    for sound, pause in zip(sounds, pauses, strict=True):
        silence = np.zeros(round(pause * rate), np.int16)
        start = clock + len(silence)
        clock = start + len(sound.samples)
        parts += [silence, sound.samples]
        spans.append((start / rate, clock / rate))
    return Sound(np.concatenate(parts), rate), spans
