"""A graph on ONNX Runtime, with its inputs where it runs."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime as ort

from scripts.machine import processors


class OnnxModel:
    """A graph of one output, on ``device``: with the settings that the product's repository has for it."""

    def __init__(self, path: Path, device: str) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1 if device == "cuda" else processors()
        options.enable_mem_pattern = False
        providers = {"cuda": ["CUDAExecutionProvider", "CPUExecutionProvider"], "cpu": ["CPUExecutionProvider"]}[device]
        self._session = ort.InferenceSession(str(path), options, providers=providers, enable_fallback=0)
        self._device = device

    def bound(self, inputs: dict[str, np.ndarray]) -> Callable[[], np.ndarray]:
        """Put the inputs where the graph runs; a call runs it, and brings the answer into the processor's memory."""
        binding = self._session.io_binding()
        for name, array in inputs.items():
            binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array, self._device, 0))
        binding.bind_output(self._session.get_outputs()[0].name, self._device, 0)

        def run() -> np.ndarray:
            self._session.run_with_iobinding(binding)
            return binding.copy_outputs_to_cpu()[0]

        return run
