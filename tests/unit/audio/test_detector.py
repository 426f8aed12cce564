import numpy as np
import pytest
from numpy.typing import NDArray

from client.recordings import recordings
from frontend.audio import detector
from frontend.audio.detector import FRAME, loudness, speech_probabilities
from frontend.audio.speech_windows import speech_runs
from tests.speech import AlwaysSure, say


def _frames(audio: NDArray[np.float32]) -> NDArray[np.int16]:
    """Samples from -1 to 1 as frames; the last one is padded with zeros."""
    samples = np.zeros(-(-len(audio) // FRAME) * FRAME, np.int16)
    samples[: len(audio)] = audio * 32767
    return samples.reshape(-1, FRAME)


@pytest.fixture(scope="module")
def conversation() -> NDArray[np.int16]:
    """Three minutes of sentences with pauses of all lengths."""
    rng = np.random.default_rng(2)
    parts: list[NDArray[np.float32]] = []
    while sum(len(part) for part in parts) < 180 * 16_000:
        pause = np.zeros(int(rng.integers(1_000, 40_000)), np.float32)
        parts += [say(f"good morning everybody number {len(parts)}"), pause]
    return _frames(np.concatenate(parts))


def test_speech_is_heard_as_speech() -> None:
    assert speech_probabilities(_frames(say("good morning everybody"))).max() > 0.9


def _quiet(audio: NDArray[np.float32], decibels: float) -> NDArray[np.int16]:
    return _frames(audio / np.abs(audio).max() * np.float32(10 ** (decibels / 20)))


@pytest.mark.parametrize("language", ["en", "es", "fr", "it", "ru"])
@pytest.mark.parametrize("decibels", [-20, -34, -46])
def test_speech_is_heard_at_any_loudness_above_silence(language: str, decibels: float) -> None:
    for recording in recordings(language):
        audio = recording.samples()
        loud, quiet = (
            speech_runs(speech_probabilities(_quiet(audio, each)), 0.5, len(audio)) for each in (-6, decibels)
        )
        assert abs(quiet[0].start - loud[0].start) <= 4 * FRAME
        assert abs(quiet[-1].end - loud[-1].end) <= 8 * FRAME


def test_a_click_is_not_taken_for_the_loudness_of_speech() -> None:
    audio = say("good morning everybody") * np.float32(0.005 / np.abs(say("good morning everybody")).max())
    audio[100:200] = 1
    assert loudness(_frames(audio)) < 0.01


@pytest.mark.parametrize("shape", [0.0, 0.5, 1.0], ids=["white", "pink", "brown"])
def test_quiet_noise_is_not_heard_as_speech(shape: float) -> None:
    spectrum = np.fft.rfft(np.random.default_rng(0).normal(0, 1, 160_000))
    noise = np.fft.irfft(spectrum / np.maximum(np.arange(len(spectrum)), 1) ** shape)
    assert speech_probabilities(_quiet(noise.astype(np.float32), -46)).max() < 0.5


def test_noise_is_not_heard_as_speech() -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, 48_000).astype(np.float32)
    assert speech_probabilities(_frames(noise)).max() < 0.5


def test_long_audio_is_heard_as_if_it_went_through_frame_by_frame(
    conversation: NDArray[np.int16], monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = speech_probabilities(conversation[:1_000])
    monkeypatch.setattr(detector, "_AT_ONCE", 1)
    assert np.abs(at_once - speech_probabilities(conversation[:1_000])).max() < 1e-3


def test_quiet_stretches_are_skipped(conversation: NDArray[np.int16]) -> None:
    pause = np.full((2_000, FRAME), 12_000, np.int16)
    frames = np.concatenate([pause, conversation[:500], pause])
    heard = speech_probabilities(frames, quiet=100)
    assert not heard[:1_900].any()
    assert not heard[2_600:].any()
    alone = speech_runs(speech_probabilities(conversation[:500]), 0.5, 500 * FRAME)
    assert len(speech_runs(heard, 0.5, frames.size)) == len(alone)


@pytest.mark.parametrize(("loud", "asked"), [([100], (80, 128)), ([96, 144], (80, 176)), ([5], (0, 32))])
def test_the_detector_runs_half_a_second_around_sounds(
    monkeypatch: pytest.MonkeyPatch, loud: list[int], asked: tuple[int, int]
) -> None:
    """In blocks of 16 frames: the block of the sound, and one on each side."""
    frames = np.zeros((400, FRAME), np.int16)
    frames[loud, 7] = 200
    sure = AlwaysSure()
    monkeypatch.setattr(detector, "load_detector", lambda: sure)
    heard = np.flatnonzero(speech_probabilities(frames, quiet=100))
    assert (heard[0], heard[-1] + 1, len(heard), sure.frames) == (*asked, asked[1] - asked[0], asked[1] - asked[0])


@pytest.mark.parametrize(("lowest", "highest", "asked"), [(-100, 99, False), (-100, 100, True), (900, 1_100, True)])
def test_the_detector_hears_a_range_of_twice_the_quiet_level(
    monkeypatch: pytest.MonkeyPatch, lowest: int, highest: int, asked: bool
) -> None:
    frames = np.full((16, FRAME), lowest, np.int16)
    frames[3, 3] = highest
    monkeypatch.setattr(detector, "load_detector", AlwaysSure)
    assert speech_probabilities(frames, quiet=100).any() == asked


def test_the_detector_does_not_run_on_constant_audio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detector, "load_detector", lambda: pytest.fail("the detector was asked"))
    assert not speech_probabilities(np.full((10_000, FRAME), -20_000, np.int16), quiet=100).any()


@pytest.mark.parametrize("frames", [1, 15, 16, 17, 63, 64, 65, 2_001])
def test_every_frame_has_a_probability(frames: int) -> None:
    noise = np.random.default_rng(frames).integers(-9_000, 9_000, (frames, FRAME)).astype(np.int16)
    heard = speech_probabilities(noise, quiet=100)
    assert heard.shape == (frames,)
    assert np.count_nonzero(heard) == frames
