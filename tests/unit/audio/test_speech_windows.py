from itertools import chain

import numpy as np
import pytest

from frontend.audio.decode import SAMPLE_RATE
from frontend.audio.detector import FRAME
from frontend.audio.speech_windows import cut_windows, is_silent, speech_runs


def _frames(*parts: tuple[float, float]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Probabilities from (seconds, probability) pairs."""
    return np.concatenate([np.full(int(s * SAMPLE_RATE / FRAME), p, np.float32) for s, p in parts])


def _counted(*parts: tuple[int, float]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Probabilities from (frames, probability) pairs."""
    return np.concatenate([np.full(frames, p, np.float32) for frames, p in parts])


@pytest.mark.parametrize(("peak", "silent"), [(0, True), (90, True), (120, False)])
def test_silence_is_a_peak_under_the_threshold(peak: int, silent: bool) -> None:
    assert is_silent(np.array([0, -peak, 0], np.int16), -50.0) is silent


def test_the_lowest_sample_counts_as_a_peak() -> None:
    assert not is_silent(np.array([-32768], np.int16), -50.0)


def test_a_short_dip_does_not_end_a_run() -> None:
    assert len(speech_runs(_frames((1, 0.9), (0.07, 0.1), (1, 0.9)), 0.5, 10**6)) == 1


@pytest.mark.parametrize(("between", "runs"), [(0.5, 1), (0.36, 1), (0.34, 2)])
def test_a_run_goes_on_a_little_below_where_it_starts(between: float, runs: int) -> None:
    assert len(speech_runs(_frames((1, 0.9), (1, between), (1, 0.9)), 0.5, 10**6)) == runs


@pytest.mark.parametrize(("probability", "runs"), [(0.49, 0), (0.5, 1)])
def test_a_run_starts_at_the_threshold(probability: float, runs: int) -> None:
    assert len(speech_runs(_frames((1, probability)), 0.5, 10**6)) == runs


@pytest.mark.parametrize(("frames", "runs"), [(3, 1), (4, 2)])
def test_a_run_ends_with_four_quiet_frames(frames: int, runs: int) -> None:
    assert len(speech_runs(_counted((30, 0.9), (frames, 0.1), (30, 0.9)), 0.5, 10**6)) == runs


def test_a_run_holds_its_own_frames_alone() -> None:
    (run,) = speech_runs(_counted((10, 0.1), (20, 0.9), (5, 0.4), (10, 0.1)), 0.5, 10**6)
    assert (run.start, run.end) == (10 * FRAME, 35 * FRAME)


def test_a_run_ends_with_the_audio() -> None:
    (run,) = speech_runs(_frames((1, 0.9)), 0.5, 15_000)
    assert (run.start, run.end) == (0, 15_000)


def test_audio_without_speech_has_no_window() -> None:
    assert cut_windows(_counted((40, 0.1)), 0.5, 40 * FRAME, 8.0) == []


@pytest.mark.parametrize(("before", "behind"), [(30, 30), (2, 30), (30, 2)])
def test_a_window_begins_before_its_speech_and_ends_behind_it(before: int, behind: int) -> None:
    probabilities = _counted((before, 0.1), (40, 0.9), (behind, 0.1))
    samples = len(probabilities) * FRAME
    (window,) = cut_windows(probabilities, 0.5, samples, 8.0)
    assert window.start == max(0, before * FRAME - 3_200)
    assert window.end == min(samples, (before + 40) * FRAME + 3_200)


def test_a_pause_too_short_for_two_paddings_is_shared() -> None:
    probabilities = _counted((60, 0.9), (10, 0.1), (60, 0.9))
    first, second = cut_windows(probabilities, 0.5, len(probabilities) * FRAME, 3.0)
    assert first.end == second.start == 65 * FRAME


@pytest.mark.parametrize(("longest", "windows"), [(2.93, 2), (2.94, 1)])
def test_speech_on_both_sides_of_a_pause_is_one_window_if_it_fits(longest: float, windows: int) -> None:
    """2.24 s of speech, 0.3 s of the pause, and 0.4 s of padding."""
    probabilities = _counted((10, 0.1), (30, 0.9), (20, 0.1), (40, 0.9), (10, 0.1))
    assert len(cut_windows(probabilities, 0.5, len(probabilities) * FRAME, longest)) == windows


@pytest.mark.parametrize(("longest", "windows"), [(2.92, 2), (2.93, 1)])
def test_a_short_pause_counts_as_what_it_is(longest: float, windows: int) -> None:
    probabilities = _counted((10, 0.1), (30, 0.9), (9, 0.1), (40, 0.9), (10, 0.1))
    assert len(cut_windows(probabilities, 0.5, len(probabilities) * FRAME, longest)) == windows


def test_a_window_is_full_before_the_next_one_begins() -> None:
    """Three runs of two seconds fit, with the pauses between them."""
    probabilities = _counted(*[(62, 0.9), (20, 0.1)] * 10)
    windows = cut_windows(probabilities, 0.5, len(probabilities) * FRAME, 8.0)
    assert [len(window.pieces) for window in windows] == [3, 3, 3, 1]


def test_speech_without_a_pause_is_cut_at_its_quietest_frame() -> None:
    probabilities = _frames((6, 0.9), (0.04, 0.6), (6, 0.9))
    first, second = cut_windows(probabilities, 0.5, len(probabilities) * FRAME, 8.0)
    assert first.end == 187 * FRAME + FRAME // 2
    assert second.start <= first.end


def test_a_cut_lies_in_the_last_two_fifths_of_a_window() -> None:
    probabilities = _frames((2, 0.9), (0.04, 0.4), (3.5, 0.9), (0.04, 0.6), (6, 0.9))
    first, _ = cut_windows(probabilities, 0.5, len(probabilities) * FRAME, 8.0)
    assert abs(first.end / SAMPLE_RATE - 5.54) < 0.1


def test_a_long_pause_within_a_window_becomes_a_short_one() -> None:
    """It keeps 0.15 s at each end."""
    probabilities = _counted((50, 0.9), (60, 0.1), (50, 0.9))
    (window,) = cut_windows(probabilities, 0.5, len(probabilities) * FRAME, 8.0)
    first, second = window.pieces
    assert (first.start, first.end) == (0, 50 * FRAME + 2_400)
    assert (second.start, second.end) == (110 * FRAME - 2_400, 160 * FRAME)


def test_a_short_pause_within_a_window_stays_as_it_is() -> None:
    probabilities = _counted((50, 0.9), (9, 0.1), (50, 0.9))
    (window,) = cut_windows(probabilities, 0.5, len(probabilities) * FRAME, 8.0)
    (whole,) = window.pieces
    assert (whole.start, whole.end) == (0, 109 * FRAME)


@pytest.mark.parametrize("pause", [1.0, 60.0, 3600.0])
def test_a_window_continues_after_a_pause_of_any_length(pause: float) -> None:
    probabilities = _frames((1, 0.9), (pause, 0.1), (1, 0.9))
    (window,) = cut_windows(probabilities, 0.5, len(probabilities) * FRAME, 8.0)
    assert len(window.pieces) == 2


def test_no_window_is_longer_than_the_model_takes() -> None:
    probabilities = _frames(*[(length / 10, 0.9) if length % 2 else (length / 20, 0.1) for length in range(1, 90)])
    windows = cut_windows(probabilities, 0.5, len(probabilities) * FRAME, 8.0)
    assert max(sum(piece.end - piece.start for piece in window.pieces) for window in windows) <= 8 * SAMPLE_RATE


def test_all_speech_is_inside_of_the_windows() -> None:
    probabilities = np.random.default_rng(1).random(3000).astype(np.float32)
    windows = cut_windows(probabilities, 0.5, len(probabilities) * FRAME, 8.0)
    covered = np.zeros(len(probabilities) * FRAME, bool)
    for piece in chain.from_iterable(window.pieces for window in windows):
        covered[piece.start : piece.end] = True
    spoken = np.repeat(probabilities >= 0.5, FRAME)
    assert covered[spoken].all()
