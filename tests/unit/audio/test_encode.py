import io
import wave

import av
import numpy as np
import pytest

from frontend.audio.encode import AudioFile, Samples, to_int16

RAMP = np.linspace(-0.5, 0.5, 22_050, dtype=np.float32)


def test_the_loudest_sample_reaches_full_scale() -> None:
    assert np.abs(to_int16(RAMP, 0.01)).max() == 32767


def test_the_lowest_sample_counts_as_the_loudest() -> None:
    assert to_int16(np.array([-0.5, 0.25], np.float32), 0.01).tolist() == [-32767, 16383]


def test_near_silence_is_not_blown_up() -> None:
    assert np.abs(to_int16(RAMP * 1e-4, 0.01)).max() < 200


def _written(audio_format: str, rate: int, kbps: int, *parts: Samples) -> bytes:
    file = AudioFile(audio_format, rate, kbps)
    for part in parts:
        file.add(part)
    return file.finish()


def test_wav_sizes_are_exact() -> None:
    parts = to_int16(RAMP, 0.01), to_int16(RAMP[:100], 0.01)
    with wave.open(io.BytesIO(_written("wav", 22_050, 64, *parts))) as file:
        shape = (file.getnframes(), file.getframerate(), file.getnchannels(), file.getsampwidth())
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    assert shape == (22_150, 22_050, 1, 2)
    assert np.array_equal(samples, np.concatenate(parts))


def _noise(samples: int) -> Samples:
    return np.random.default_rng(1).integers(-9_000, 9_000, samples).astype(np.int16)


@pytest.mark.parametrize("rate", [16_000, 22_050, 44_100])
def test_mp3_is_as_long_as_its_samples(rate: int) -> None:
    with av.open(io.BytesIO(_written("mp3", rate, 64, *[_noise(rate // 2 + 1)] * 3))) as file:
        stream = file.streams.audio[0]
        assert float(stream.duration * stream.time_base) == pytest.approx(3 * (rate // 2 + 1) / rate, abs=1e-6)
        assert sum(frame.samples for frame in file.decode(stream)) == 3 * (rate // 2 + 1)


@pytest.mark.parametrize("rate", [16_000, 22_050, 44_100])
@pytest.mark.parametrize("kbps", [32, 64, 128, 160])
def test_mp3_has_its_bit_rate(rate: int, kbps: int) -> None:
    assert len(_written("mp3", rate, kbps, _noise(rate * 5))) == pytest.approx(5 * kbps * 1000 / 8, rel=0.03)
