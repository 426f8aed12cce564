"""A Python-based backend named ``onnxruntime`` for a Triton that ships without the C++ one: it runs the voices.

It runs ``<version>/model.onnx``, without batches, through the ``onnxruntime`` package. A real
``libtriton_onnxruntime.so`` takes precedence over it.
"""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime as ort
import triton_python_backend_utils as pb_utils

# How often a run asks whether its caller still waits.
_POLL_SECONDS = 0.05


def _options(config):
    """Session options by the C++ backend's names."""
    parameters = {key: entry["string_value"] for key, entry in config.get("parameters", {}).items()}
    options = ort.SessionOptions()
    options.intra_op_num_threads = int(parameters.get("intra_op_thread_count", "0"))
    options.inter_op_num_threads = int(parameters.get("inter_op_thread_count", "0"))
    options.enable_mem_pattern = parameters.get("enable_mem_pattern", "1") == "1"
    return options


def _failure(message, code):
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(message, code))


class TritonPythonModel:
    """One instance with a session of its own."""

    def initialize(self, args):
        config = json.loads(args["model_config"])
        path = os.path.join(args["model_repository"], args["model_version"], "model.onnx")
        self._session = ort.InferenceSession(path, _options(config), providers=["CPUExecutionProvider"])
        self._inputs = [tensor["name"] for tensor in config["input"]]
        self._empty = {
            tensor["name"]: np.zeros(
                [max(0, int(size)) for size in tensor["dims"]], pb_utils.triton_string_to_numpy(tensor["data_type"])
            )
            for tensor in config["output"]
        }
        self._thread = ThreadPoolExecutor(1)

    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        if request.is_cancelled():
            return _failure("cancelled", pb_utils.TritonError.CANCELLED)
        inputs = {name: pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in self._inputs}
        names = list(request.requested_output_names())
        try:
            # Frontends send empty inputs to find out whether this process lives.
            is_probe = not all(array.size for array in inputs.values())
            outputs = [self._empty[name] for name in names] if is_probe else self._run(request, names, inputs)
        except Exception as error:  # ONNX Runtime raises many types, and the caller must hear of each.
            return _failure(f"onnx runtime error: {error}", pb_utils.TritonError.INTERNAL)
        return pb_utils.InferenceResponse(
            [pb_utils.Tensor(name, output) for name, output in zip(names, outputs, strict=True)]
        )

    def _run(self, request, names, inputs):
        """Run the model, and end the run soon after the request is cancelled: a long one takes seconds."""
        options = ort.RunOptions()
        run = self._thread.submit(self._session.run, names, inputs, options)
        while True:
            try:
                return run.result(_POLL_SECONDS)
            except TimeoutError:
                options.terminate = request.is_cancelled()
