"""A Python-based backend named ``onnxruntime`` for a Triton that ships without the C++ one.

It runs ``<version>/model.onnx`` through the ``onnxruntime`` package and is as strict as the C++ backend. A real
``libtriton_onnxruntime.so`` takes precedence over it wherever there is one.
"""

import json
import os
import sys

import onnxruntime as ort
import triton_python_backend_utils as pb_utils

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import batching
import session as sessions
from model_config import TensorInfo, check, shape_of
from watch import Watch


def _describe(tensors):
    return [TensorInfo(tensor.name, tensor.type, shape_of(tensor.shape)) for tensor in tensors]


def _failure(message, code):
    """A response of its own: Triton 2.51 crashes when two responses share one error."""
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(message, code))


def _response(request, arrays):
    return pb_utils.InferenceResponse(
        [pb_utils.Tensor(name, arrays[name]) for name in request.requested_output_names()]
    )


class TritonPythonModel:
    """One instance: one session of its own."""

    def initialize(self, args):
        config = json.loads(args["model_config"])
        filename = config.get("default_model_filename") or "model.onnx"
        path = os.path.join(args["model_repository"], args["model_version"], filename)
        self._session = ort.InferenceSession(
            path,
            sessions.options(config),
            providers=sessions.providers(args["model_instance_kind"], int(args["model_instance_device_id"])),
        )
        self._config, self._watch = config, Watch()
        self._plan = check(config, _describe(self._session.get_inputs()), _describe(self._session.get_outputs()))
        self._nothing = batching.nothing(
            self._plan,
            {tensor["name"]: pb_utils.triton_string_to_numpy(tensor["data_type"]) for tensor in config["output"]},
        )

    def execute(self, requests):
        responses = [None] * len(requests)
        places, given = [], []
        for place, request in enumerate(requests):
            arrays = {name: pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in self._plan.inputs}
            if request.is_cancelled():
                responses[place] = _failure("cancelled", pb_utils.TritonError.CANCELLED)
            elif not all(array.size for array in arrays.values()):
                # Callers ask so whether this process lives.
                responses[place] = _response(request, self._nothing)
            else:
                places.append(place)
                given.append(arrays)
        if places:
            answers = self._run([requests[place] for place in places], given)
            for place, answer in zip(places, answers, strict=True):
                responses[place] = answer
        return responses

    def _run(self, requests, given):
        plan, options = self._plan, sessions.run_options(self._config)
        names = list(plan.outputs)
        try:
            with self._watch.over(requests, options):
                outputs = self._session.run(names, batching.join(plan, given), options)
            parts = {
                name: batching.split(plan, given, name, output) for name, output in zip(names, outputs, strict=True)
            }
        except Exception as error:  # One boundary: ONNX Runtime raises many types, and every request must hear of it.
            return [_failure(f"onnx runtime error: {error}", pb_utils.TritonError.INTERNAL) for _ in requests]
        return [
            _response(request, {name: parts[name][index] for name in names}) for index, request in enumerate(requests)
        ]
