"""Triton's Python model for Kokoro: symbols and a style to sound. ``speaker.py`` does the work."""

import json
import os
import sys
from pathlib import Path

import triton_python_backend_utils as pb_utils

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from speaker import Speaker
from threads import threads_of

_INPUTS = ("tokens", "style", "speed")


def _failure(message, code):
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(message, code))


class TritonPythonModel:
    """One instance: a process with its own weights."""

    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        threads = threads_of(parameters["intra_threads"]["string_value"])
        self._speaker = Speaker(Path(args["model_repository"]) / args["model_version"], threads)

    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        # Skip requests whose caller has disconnected.
        if request.is_cancelled():
            return _failure("cancelled", pb_utils.TritonError.CANCELLED)
        inputs = {name: pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in _INPUTS}
        if not 2 <= inputs["tokens"].size <= Speaker.most_tokens:
            return _failure(f"tokens must be 2 to {Speaker.most_tokens}", pb_utils.TritonError.INVALID_ARG)
        try:
            audio = self._speaker.speak(**inputs)
        except Exception as error:  # Boundary: an exception that leaves here would send file paths to clients.
            pb_utils.Logger.log_error(f"speech failed: {error!r}")
            return _failure("speech failed", pb_utils.TritonError.INTERNAL)
        return pb_utils.InferenceResponse([pb_utils.Tensor("audio", audio)])
