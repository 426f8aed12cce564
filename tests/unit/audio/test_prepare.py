from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from frontend.audio import detector
from frontend.audio.decode import TooLongError
from frontend.audio.prepare import SAMPLE_BYTES, Prepared, SpokenWindow, WindowRules, prepare, room_for
from frontend.processes.shared_memory import SharedBytes
from tests.speech import AlwaysSure, encode, say

RULES = WindowRules(silence_dbfs=-50.0, speech_probability=0.5, window_seconds=4.0)
SPEECH = say("Good morning everybody, this is a test.")
PAUSE = np.zeros(24_000, np.float32)
# Five seconds: two of them are ten seconds into the file, two and a half are twenty, and half a second is forty.
PIECES = SpokenWindow(((0.0, 10.0), (2.0, 20.0), (4.5, 40.0)), 0, 80_000, 5.0)


class Preparing:
    """Prepares files."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.samples = SharedBytes()

    def __call__(self, audio: NDArray[np.float32], seconds: float = 60.0, rules: WindowRules = RULES) -> Prepared:
        upload, self.samples = SharedBytes(), SharedBytes(room_for(seconds))
        for file in (upload, self.samples):
            self._stack.callback(file.close)
        upload.write(encode(audio, "wav"))
        return prepare(upload.attached, self.samples.attached, rules)

    def kept(self, window: SpokenWindow) -> list[int]:
        data = self.samples.read(SAMPLE_BYTES * (window.end - window.start), SAMPLE_BYTES * window.start)
        return [int(sample) for sample in np.frombuffer(data, np.int16)]


@pytest.fixture
def preparing() -> Iterator[Preparing]:
    with ExitStack() as stack:
        yield Preparing(stack)


def test_windows_lie_end_to_end_and_hold_the_sound_of_their_place_in_the_file(preparing: Preparing) -> None:
    audio = np.concatenate([PAUSE, SPEECH, PAUSE, SPEECH, PAUSE, SPEECH])
    first, second, third = preparing(audio).windows
    assert (first.start, first.end, second.end) == (0, second.start, third.start)
    # The pause before it, less the padding.
    assert 1.2 < first.pieces[0][1] < 1.6
    whole = (audio * 32767).astype(np.int16)
    for window in (first, second, third):
        ((begins, second_of_file),) = window.pieces
        start, kept = round(second_of_file * 16_000), preparing.kept(window)
        assert kept == whole[start : start + window.end - window.start].tolist()
        assert (begins, window.seconds) == (0.0, len(kept) / 16_000)


def test_the_pieces_of_a_window_lie_end_to_end(preparing: Preparing) -> None:
    audio = np.concatenate([PAUSE, SPEECH, PAUSE, SPEECH])
    (window,) = preparing(audio, rules=replace(RULES, window_seconds=8.0)).windows
    (_, first), (within, second) = window.pieces
    whole = (audio * 32767).astype(np.int16)
    begins, cut, goes_on = round(first * 16_000), round(within * 16_000), round(second * 16_000)
    rest = window.end - window.start - cut
    assert preparing.kept(window) == [*whole[begins : begins + cut].tolist(), *whole[goes_on : goes_on + rest].tolist()]


@pytest.mark.parametrize(
    ("start", "end", "of_file"),
    [
        (0.0, 1.0, (10.0, 11.0)),
        (1.9, 2.0, (11.9, 12.0)),
        (2.0, 2.1, (20.0, 20.1)),
        (2.5, 2.5, (20.5, 20.5)),
        (4.8, 5.0, (40.3, 40.5)),
    ],
)
def test_times_of_a_window_become_times_of_the_file(start: float, end: float, of_file: tuple[float, float]) -> None:
    assert PIECES.times_of_file(start, end) == pytest.approx(of_file)


@pytest.mark.parametrize(
    ("start", "end", "of_file"),
    [
        (1.0, 2.2, (11.0, 12.0)),
        (1.9, 3.0, (20.0, 21.0)),
        (1.0, 3.0, (11.0, 12.0)),
        (4.3, 4.6, (22.3, 22.5)),
        (1.0, 5.0, (20.0, 22.5)),
        (4.8, 6.0, (40.3, 40.5)),
    ],
    ids=["most before", "most behind", "half", "most before the other", "all of a piece", "over the end"],
)
def test_a_word_across_a_removed_pause_is_where_most_of_it_is(
    start: float, end: float, of_file: tuple[float, float]
) -> None:
    assert PIECES.times_of_file(start, end) == pytest.approx(of_file)


def test_words_that_follow_each_other_in_a_window_do_so_in_the_file() -> None:
    edges = np.sort(np.random.default_rng(0).uniform(0, PIECES.seconds, 200)).tolist()
    clocks = [second for word in pairwise(edges) for second in PIECES.times_of_file(*word)]
    assert clocks == sorted(clocks)


@pytest.mark.parametrize(
    ("start", "end", "of_file"),
    [
        (4.0, 3.0, (22.0, 21.0)),
        (0.0, -1.0, (10.0, 9.0)),
        (2.5, 1.0, (20.5, 19.0)),
        # All before the window.
        (-0.2, -0.1, (10.0, 9.9)),
    ],
)
def test_times_that_end_before_they_start_are_mapped_by_the_start(
    start: float, end: float, of_file: tuple[float, float]
) -> None:
    assert PIECES.times_of_file(start, end) == pytest.approx(of_file)


def test_the_duration_is_that_of_the_whole_file(preparing: Preparing) -> None:
    audio = np.concatenate([PAUSE, SPEECH, PAUSE])
    assert preparing(audio).duration == len(audio) / 16_000


def test_a_file_of_the_greatest_length_is_taken_to_its_last_sample(preparing: Preparing) -> None:
    """The last frame of the detector is longer than the file."""
    assert len(SPEECH) % 512
    (window,) = preparing(SPEECH, len(SPEECH) / 16_000).windows
    assert len(SPEECH) - 1_000 < window.end <= len(SPEECH)


def test_a_file_of_a_sample_more_is_refused(preparing: Preparing) -> None:
    with pytest.raises(TooLongError):
        preparing(SPEECH, (len(SPEECH) - 1) / 16_000)


@pytest.mark.parametrize(("peak", "windows"), [(0.002, 0), (0.02, 1)])
def test_speech_quieter_than_silence_is_none(preparing: Preparing, peak: float, windows: int) -> None:
    assert len(preparing(SPEECH * np.float32(peak / np.abs(SPEECH).max())).windows) == windows


def test_audio_below_the_silence_threshold_is_skipped(preparing: Preparing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three seconds at -52 dBFS, with a detector that takes everything for speech."""
    monkeypatch.setattr(detector, "load_detector", AlwaysSure)
    tone = np.sin(2 * np.pi * 440 * np.arange(48_000) / 16_000).astype(np.float32)
    (window,) = preparing(np.concatenate([tone * np.float32(0.0025), tone[:16_000]])).windows
    # Half a second and more before the sound, and the padding.
    assert 1.7 < window.pieces[0][1] < 2.3


def test_soft_speech_beside_loud_is_heard(preparing: Preparing) -> None:
    soft = SPEECH * np.float32(0.02 / np.abs(SPEECH).max())
    assert len(preparing(np.concatenate([soft, PAUSE, PAUSE, SPEECH])).windows) == 2


@pytest.mark.parametrize(("seconds", "windows"), [(0.01, 0), (0.09, 0), (0.11, 1)])
def test_less_than_a_tenth_of_a_second_has_no_speech(
    preparing: Preparing, monkeypatch: pytest.MonkeyPatch, seconds: float, windows: int
) -> None:
    monkeypatch.setattr(detector, "load_detector", AlwaysSure)
    prepared = preparing(SPEECH[8_000 : 8_000 + int(seconds * 16_000)])
    assert len(prepared.windows) == windows
