import numpy as np
import pytest

from frontend.audio.decode import SAMPLE_RATE
from frontend.audio.detector import FRAME
from frontend.audio.speech_windows import cut_windows, is_silent, speech_runs


def _frames(*parts: tuple[float, float]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Probabilities from (seconds, probability) pairs."""
    return np.concatenate([np.full(int(s * SAMPLE_RATE / FRAME), p, np.float32) for s, p in parts])


@pytest.mark.parametrize(("peak", "silent"), [(0, True), (90, True), (120, False)])
def test_silence_is_a_peak_under_the_threshold(peak: int, silent: bool) -> None:
    assert is_silent(np.array([0, -peak, 0], np.int16), -50.0) is silent


def test_the_lowest_sample_counts_as_a_peak() -> None:
    assert not is_silent(np.array([-32768], np.int16), -50.0)


def test_a_short_dip_does_not_end_a_run() -> None:
    assert len(speech_runs(_frames((1, 0.9), (0.07, 0.1), (1, 0.9)), 0.5, 10**6)) == 1


def test_sentences_apart_become_windows_apart() -> None:
    windows = cut_windows(_frames((2, 0.9), (0.6, 0), (2, 0.9)), 0.5, 80_000, 8.0, 1.0)
    assert len(windows) == 2


def test_a_short_pause_is_not_cut_at() -> None:
    windows = cut_windows(_frames((2, 0.9), (0.2, 0), (2, 0.9)), 0.5, 80_000, 8.0, 1.0)
    assert len(windows) == 1


def test_windows_are_filled_up_to_what_the_model_pads_to() -> None:
    windows = cut_windows(_frames((2, 0.9), (0.6, 0), (2, 0.9)), 0.5, 80_000, 30.0, 30.0)
    assert len(windows) == 1


def test_speech_without_a_pause_is_cut_at_its_quietest_frame() -> None:
    probabilities = _frames((6, 0.9), (0.04, 0.6), (6, 0.9))
    first, second = cut_windows(probabilities, 0.5, len(probabilities) * FRAME, 8.0, 8.0)
    assert abs(first.end / SAMPLE_RATE - 6.0) < 0.5
    assert second.start <= first.end


def test_no_window_is_longer_than_the_model_takes() -> None:
    probabilities = _frames((60, 0.9))
    windows = cut_windows(probabilities, 0.5, len(probabilities) * FRAME, 8.0, 8.0)
    assert max(window.end - window.start for window in windows) <= 8 * SAMPLE_RATE


def test_all_speech_is_inside_of_the_windows() -> None:
    probabilities = np.random.default_rng(1).random(3000).astype(np.float32)
    windows = cut_windows(probabilities, 0.5, len(probabilities) * FRAME, 8.0, 2.0)
    covered = np.zeros(len(probabilities) * FRAME, bool)
    for window in windows:
        covered[window.start : window.end] = True
    spoken = np.repeat(probabilities >= 0.5, FRAME)
    assert covered[spoken].all()
