"""What becomes of damaged files. A process for tasks imports this, which may open few files and write none."""

import io
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from frontend.audio.decode import BeyondLimitsError, TooLongError, UnknownCodecError, UnknownFormatError
from frontend.audio.detector import load_detector
from frontend.audio.packets import DamagedAudioError
from frontend.audio.prepare import WindowRules, prepare, room_for
from frontend.audio.sniff import recognise
from frontend.config.settings import Settings
from frontend.processes.shared_memory import Attached
from tests.fuzz.containers import damaged, seeds

_REFUSALS = (BeyondLimitsError, DamagedAudioError, TooLongError, UnknownCodecError, UnknownFormatError)
_LONGEST_AUDIO = 60.0


@dataclass
class _Memory:
    """Stands for shared memory: a process for tasks may write no files."""

    data: bytes = b""

    def file(self) -> BinaryIO:
        return io.BytesIO(self.data)

    def samples(self) -> NDArray[np.int16]:
        return _room()


@cache
def _room() -> NDArray[np.int16]:
    return np.zeros(room_for(_LONGEST_AUDIO) // 2, np.int16)


def warm() -> None:
    """Make what a process needs before it is confined, and may read no more files."""
    load_detector()
    seeds()


def file_of(seed: int) -> bytes:
    """The file of a seed, always the same."""
    return damaged(random.Random(f"file {seed}"))


def outcomes(seeds: Sequence[int]) -> list[tuple[str, float]]:
    """What becomes of the files of these seeds, and the processor seconds of each. A fault has a blank in its name."""
    settings = Settings()
    rules = WindowRules(settings.silence_dbfs, settings.speech_probability, 30.0, more_audio=True)
    found = []
    for seed in seeds:
        data, began = file_of(seed), time.process_time()
        try:
            recognise(lambda count, start, data=data: data[start : start + count], more=True)  # type: ignore[misc]
            prepared = prepare(cast(Attached, _Memory(data)), cast(Attached, _Memory()), rules)
            outcome = "heard" if prepared.windows else "silent"
        except _REFUSALS as refusal:
            outcome = type(refusal).__name__
        except Exception as error:
            outcome = f"fault {type(error).__name__}: {error}"
        found.append((outcome, time.process_time() - began))
    return found
