"""Encodes windows, each with as much silence at its end as it needs.

Whisper was taught with windows of 30 s, most of them partly silent. With some seconds of silence it hears about the
same in a fraction of the time, but sometimes repeats itself.
"""

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import Any

import numpy as np
from engines import Engine, Float
from features import SAMPLE_RATE, LogMel
from windows import Job, Window

# Seconds of a step where windows are encoded together: each length is decoded apart, which costs more than silence.
_STEP_TOGETHER = 10


class WindowEncoder:
    """Encodes windows by ``engine``; ``settings`` are those of ``quartet.json``.

    A window of n samples is first encoded with ``silence_seconds`` at least, up to a whole number of steps, at most as
    ``longest`` samples.
    """

    def __init__(self, engine: Engine, settings: Mapping[str, Any], threads: int) -> None:
        self._engine, self._log_mel = engine, LogMel(int(settings["mel_bins"]))
        self._threads = ThreadPoolExecutor(threads, "features")
        self.longest = int(settings["window_seconds"] * SAMPLE_RATE)
        # An export of an earlier version takes nothing else than whole windows.
        self.silence_seconds = float(settings.get("silence_seconds", settings["window_seconds"]))
        step = float(settings.get("step_seconds", settings["window_seconds"]))
        self._step = max(step, _STEP_TOGETHER) if engine.encodes_together else step

    def samples(self, window: Window) -> int:
        """The samples of a window with its first silence."""
        steps = math.ceil((len(window.audio) / SAMPLE_RATE + self.silence_seconds) / self._step)
        return min(round(steps * self._step * SAMPLE_RATE), self.longest)

    def at_first(self, windows: Sequence[Window]) -> list[Job]:
        """The windows, each encoded with its first silence."""
        return self._encoded(windows, list(map(self.samples, windows)))

    def whole(self, windows: Sequence[Window]) -> list[Job]:
        """The windows, encoded with all the silence that there is room for."""
        return self._encoded(windows, [self.longest] * len(windows))

    def _encoded(self, windows: Sequence[Window], samples: Sequence[int]) -> list[Job]:
        places = sorted(range(len(windows)), key=samples.__getitem__)
        batches = [[place] for place in places]
        if self._engine.encodes_together:
            batches = [list(alike) for _, alike in groupby(places, key=samples.__getitem__)]
        jobs: dict[int, Job] = {}
        for batch in batches:
            audio, lengths = [windows[place].audio for place in batch], [samples[place] for place in batch]
            features: list[Float] = list(self._threads.map(self._log_mel, audio, lengths))
            for place, encoded in zip(batch, self._engine.encode(np.stack(features)), strict=True):
                length, window = samples[place], windows[place]
                jobs[place] = Job(window, encoded, length, length < self.longest, language=window.language)
        return [jobs[place] for place in range(len(windows))]
