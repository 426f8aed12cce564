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
import checks
import session as sessions
from watch import Watch


def _describe(tensors):
    return [checks.TensorInfo(tensor.name, tensor.type, checks.shape_of(tensor.shape)) for tensor in tensors]


def _failure(message, code):
    """A response of its own: Triton 2.51 crashes when two responses share one error."""
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(message, code))


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
        self._plan = checks.check(config, _describe(self._session.get_inputs()), _describe(self._session.get_outputs()))

    def execute(self, requests):
        cancelled = [request.is_cancelled() for request in requests]
        live = [request for request, gone in zip(requests, cancelled, strict=True) if not gone]
        answers = iter(self._run(live) if live else [])
        return [_failure("cancelled", pb_utils.TritonError.CANCELLED) if gone else next(answers) for gone in cancelled]

    def _run(self, requests):
        plan, options = self._plan, sessions.run_options(self._config)
        given = [
            {name: pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in plan.inputs}
            for request in requests
        ]
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
            pb_utils.InferenceResponse(
                [pb_utils.Tensor(name, parts[name][index]) for name in request.requested_output_names()]
            )
            for index, request in enumerate(requests)
        ]
