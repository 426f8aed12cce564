import io
import wave

import numpy as np
import pytest

from frontend.audio.decode import decode
from frontend.audio.encode import join, to_int16, to_mp3, to_wav

RAMP = np.linspace(-0.5, 0.5, 22_050, dtype=np.float32)


def test_the_loudest_sample_reaches_full_scale() -> None:
    assert np.abs(to_int16(RAMP)).max() == 32767


def test_near_silence_is_not_blown_up() -> None:
    assert np.abs(to_int16(RAMP * 1e-4)).max() < 200


def test_wav_sizes_are_exact() -> None:
    with wave.open(io.BytesIO(to_wav(to_int16(RAMP), 22_050))) as file:
        assert (file.getnframes(), file.getframerate(), file.getnchannels(), file.getsampwidth()) == (
            22_050,
            22_050,
            1,
            2,
        )


@pytest.mark.parametrize("rate", [16_000, 22_050])
def test_mp3_is_as_long_as_its_samples(rate: int) -> None:
    samples = decode(to_mp3(np.zeros(rate * 3, np.int16), rate, 64), 60)
    assert abs(len(samples) / 16_000 - 3) < 0.12


def test_sentences_are_joined_with_a_pause() -> None:
    one = np.ones(10, np.int16)
    assert join([one, one], 100, 0.2).tolist() == [1] * 10 + [0] * 20 + [1] * 10
