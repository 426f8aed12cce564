"""What encodes a window: CTranslate2, or on a processor the export's own graph, which takes half of the time there."""

from collections.abc import Collection
from pathlib import Path
from typing import Any, Protocol

import ctranslate2
import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

GRAPH = "encoder.onnx"
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
    """The graph that ``scripts/export_models/whisper/encoder.py`` writes."""

    together = False

    def __init__(self, path: Path, threads: int) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def encode(self, features: Float) -> Float:
        encoded: Float = self._session.run(["encoded"], {"features": features})[0]
        return encoded


def encoder_in(folder: Path, model: Any, *, device: str, threads: int, flags: Collection[str]) -> Encoder:
    """The encoder of an exported Whisper; ``model`` is its CTranslate2 part, on ``device``.

    A processor needs one of ``flags``, as /proc/cpuinfo names them, to multiply a graph's integers exactly.
    """
    graph = folder / GRAPH
    if not graph.is_file():
        return CTranslateEncoder(model, device=device)
    if device != "cpu":
        raise ValueError(f"{folder} was exported for processors: export it with --whisper-compute-type float16")
    if set(_CPUINFO.read_text(encoding="utf-8").split()).isdisjoint(flags):
        raise ValueError(f"{folder} was exported for another processor: export it again on this one")
    return GraphEncoder(graph, threads)
