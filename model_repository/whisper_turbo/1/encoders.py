"""What encodes a window: CTranslate2, or on a processor OpenVINO, which takes a third of the time there."""

from collections.abc import Collection
from pathlib import Path
from typing import Any, Protocol

import ctranslate2
import numpy as np
import openvino as ov
from numpy.typing import NDArray

GRAPH = "encoder.xml"
_CPUINFO = Path("/proc/cpuinfo")

Float = NDArray[np.float32]


class Encoder(Protocol):
    """Encodes windows of one length: features [windows, mel bins, 2 x frames] to [windows, frames, width]."""

    @property
    def together(self) -> bool:
        """Whether several windows are faster together than one by one."""
        ...

    def encode(self, features: Float) -> Float: ...


class CTranslateEncoder:
    """CTranslate2's own, which on a GPU takes less time for windows together than one by one."""

    def __init__(self, model: Any, *, device: str) -> None:
        self._model = model
        self.together = device != "cpu"

    def encode(self, features: Float) -> Float:
        encoded = self._model.encode(ctranslate2.StorageView.from_array(features), to_cpu=self.together)
        return np.asarray(encoded)


class GraphEncoder:
    """The graph that ``scripts/export_models/whisper/encoder.py`` writes, one window at a time.

    OpenVINO computes what is no integer in bfloat16 where the processor has that. Where products of integers are not
    ``exact``, it computes all in floating point.
    """

    together = False

    def __init__(self, path: Path, threads: int, *, exact: bool) -> None:
        # Threads that are bound to cores would stay there while other models' threads want the same ones.
        settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "ENABLE_CPU_PINNING": False}
        if not exact:
            settings |= {"LP_TRANSFORMS_MODE": False, "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
        self._model = ov.Core().compile_model(path, "CPU", settings)

    def encode(self, features: Float) -> Float:
        encoded: Float = self._model(features)[0]
        return encoded


def encoder_in(folder: Path, model: Any, *, device: str, threads: int, flags: Collection[str]) -> Encoder:
    """The encoder of an exported Whisper; ``model`` is its CTranslate2 part, on ``device``.

    A processor with one of ``flags``, as /proc/cpuinfo names them, multiplies a graph's integers exactly.
    """
    graph = folder / GRAPH
    if not graph.is_file():
        return CTranslateEncoder(model, device=device)
    if device != "cpu":
        raise ValueError(f"{folder} was exported for processors: export it with --whisper-compute-type float16")
    its = _CPUINFO.read_text(encoding="utf-8").split()
    return GraphEncoder(graph, threads, exact=not set(its).isdisjoint(flags))
