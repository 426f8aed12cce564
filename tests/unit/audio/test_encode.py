import io
import wave

import numpy as np
import pytest

from frontend.audio.encode import Mp3File, WavFile, to_int16
from tests.speech import decoded

RAMP = np.linspace(-0.5, 0.5, 22_050, dtype=np.float32)


def test_the_loudest_sample_reaches_full_scale() -> None:
    assert np.abs(to_int16(RAMP)).max() == 32767


def test_the_lowest_sample_counts_as_the_loudest() -> None:
    assert to_int16(np.array([-0.5, 0.25], np.float32)).tolist() == [-32767, 16383]


def test_near_silence_is_not_blown_up() -> None:
    assert np.abs(to_int16(RAMP * 1e-4)).max() < 200


def test_wav_sizes_are_exact() -> None:
    written = WavFile(22_050, 64)
    for part in (RAMP, RAMP[:100]):
        written.add(to_int16(part))
    with wave.open(io.BytesIO(written.finish())) as file:
        shape = (file.getnframes(), file.getframerate(), file.getnchannels(), file.getsampwidth())
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    assert shape == (22_150, 22_050, 1, 2)
    assert np.array_equal(samples, np.concatenate([to_int16(RAMP), to_int16(RAMP[:100])]))


@pytest.mark.parametrize("rate", [16_000, 22_050])
def test_mp3_is_as_long_as_its_samples(rate: int) -> None:
    written = Mp3File(rate, 64)
    for _ in range(3):
        written.add(np.zeros(rate, np.int16))
    assert abs(len(decoded(written.finish())) / 16_000 - 3) < 0.12


@pytest.mark.parametrize("kbps", [32, 64, 128])
def test_mp3_has_its_bit_rate(kbps: int) -> None:
    written = Mp3File(22_050, kbps)
    written.add(np.random.default_rng(1).integers(-9_000, 9_000, 22_050 * 10).astype(np.int16))
    assert len(written.finish()) == pytest.approx(10 * kbps * 1000 / 8, rel=0.03)
