"""Kokoro with OpenVINO: the symbols of an utterance to its sound."""

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from graphs import Processor
from numpy.typing import NDArray

GRAPH, SETTINGS = "kokoro.xml", "voices.json"
# The loudest that counts as silence, and the samples of it that stay at each end.
_SILENCE = 0.01
_MARGIN = 1200


class Speaker:
    """The graph that ``scripts/export_models/kokoro`` wrote to ``folder``, compiled for ``threads``."""

    most_tokens: ClassVar[int] = 512

    def __init__(self, folder: Path, threads: int) -> None:
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        processor = Processor(threads, settings["processor_flags"])
        # OpenVINO would keep what it prepares for each length: another gigabyte after a hundred utterances.
        processor.settings["CPU_RUNTIME_CACHE_CAPACITY"] = 0
        self._graph = processor.compiled(folder / GRAPH)
        # The first run lays out the weights. Do it before any caller waits.
        self.speak(np.zeros(12, np.int64), np.zeros(256, np.float32), np.ones(1, np.float32))

    def speak(self, tokens: NDArray[np.int64], style: NDArray[np.float32], speed: NDArray[np.float32]) -> Any:
        """The sound of an utterance, FP32 [samples], of its ``tokens`` [n], ``style`` [256] and ``speed`` [1]."""
        given = {"tokens": tokens[None], "style": style[None], "speed": speed}
        audio: NDArray[np.float32] = self._graph(given)["audio"].reshape(-1)
        return _trimmed(audio)


def _trimmed(audio: NDArray[np.float32]) -> NDArray[np.float32]:
    """The samples from the first that is no silence to the last, and a margin."""
    (loud,) = np.nonzero(np.abs(audio) > _SILENCE)
    if not loud.size:
        return audio
    return audio[max(0, loud[0] - _MARGIN) : loud[-1] + 1 + _MARGIN]
