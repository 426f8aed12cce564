import io
import wave

import numpy as np
import pytest

from client.verify.questions import RefusedError
from client.verify.sound import Sound, joined, read_wav, write_wav

RATE = 16_000


def _tone(hertz: float, seconds: float = 1.0, loudness: float = 20_000) -> Sound:
    times = np.arange(int(seconds * RATE)) / RATE
    return Sound((loudness * np.sin(2 * np.pi * hertz * times)).astype(np.int16), RATE)


def test_a_wav_is_read_as_it_was_written() -> None:
    sound = _tone(440)
    again = read_wav(write_wav(sound))
    assert again.rate == RATE
    assert np.array_equal(again.samples, sound.samples)


@pytest.mark.parametrize("data", [b"", b"ID3 is no WAV", write_wav(_tone(440))[:20]])
def test_what_is_no_wav_is_refused(data: bytes) -> None:
    with pytest.raises(RefusedError, match="no WAV"):
        read_wav(data)


def test_a_wav_of_two_channels_is_refused() -> None:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(RATE)
    with pytest.raises(RefusedError, match="2 channels"):
        read_wav(buffer.getvalue())


@pytest.mark.parametrize(
    ("samples", "left"),
    [([0, 0, 5_000, 0, -5_000, 0], [5_000, 0, -5_000]), ([10, 5_000, 10], [5_000]), ([0] * 5, [])],
    ids=["silence at both ends", "noise at both ends", "only silence"],
)
def test_a_sound_is_trimmed_to_its_speech(samples: list[int], left: list[int]) -> None:
    assert Sound(np.array(samples, np.int16), RATE).trimmed().samples.tolist() == left


def test_sounds_are_joined_behind_their_pauses() -> None:
    whole, spans = joined([_tone(440), _tone(220, 0.5)], [0.25, 0.5])
    assert spans == [(0.25, 1.25), (1.75, 2.25)]
    assert whole.seconds == 2.25
