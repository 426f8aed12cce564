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


def _describe(tensors):
    return [checks.TensorInfo(tensor.name, tensor.type, checks.shape_of(tensor.shape)) for tensor in tensors]


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
        self._run_options = sessions.run_options(config)
        self._plan = checks.check(config, _describe(self._session.get_inputs()), _describe(self._session.get_outputs()))

    def execute(self, requests):
        live = [request for request in requests if not request.is_cancelled()]
        answers = iter(self._run(live) if live else [])
        cancelled = pb_utils.TritonError("cancelled", pb_utils.TritonError.CANCELLED)
        kept = {id(request) for request in live}
        return [
            next(answers) if id(request) in kept else pb_utils.InferenceResponse(error=cancelled)
            for request in requests
        ]

    def _run(self, requests):
        plan = self._plan
        given = [
            {name: pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in plan.inputs}
            for request in requests
        ]
        names = list(plan.outputs)
        try:
            outputs = self._session.run(names, batching.join(plan, given), self._run_options)
            parts = {
                name: batching.split(plan, given, name, output) for name, output in zip(names, outputs, strict=True)
            }
        except Exception as error:  # One boundary: ONNX Runtime raises many types, and every request must hear of it.
            failure = pb_utils.TritonError(f"onnx runtime error: {error}", pb_utils.TritonError.INTERNAL)
            return [pb_utils.InferenceResponse(error=failure) for _ in requests]
        return [
            pb_utils.InferenceResponse(
                [pb_utils.Tensor(name, parts[name][index]) for name in request.requested_output_names()]
            )
            for index, request in enumerate(requests)
        ]
