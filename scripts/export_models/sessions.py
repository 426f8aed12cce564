"""ONNX Runtime sessions as functions from the inputs to the first output."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

Arrays = dict[str, NDArray]
Infer = Callable[[Arrays], NDArray[np.float32]]


def here(model: Path, threads: int) -> Infer:
    """Load a model's file."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    loaded = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def infer(inputs: Arrays) -> NDArray[np.float32]:
        answer: NDArray[np.float32] = loaded.run(None, inputs)[0]
        return answer

    return infer
