"""Triton's Python model for texts on a processor: packed token ids to rows. ``texts.py`` does the work.

A request has all its texts in one row: ``input_ids``, the token ids of all texts end to end, and ``lengths``. An
embedder computes the weights of the tokens too, for requests that ask for that output.
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from texts import TextModel
from threads import threads_of

_WEIGHTS = "token_weights"
# Each check for cancelled requests is a call over a pipe.
_POLL_SECONDS = 0.05


def _input(request, name):
    return pb_utils.get_input_tensor_by_name(request, name).as_numpy().reshape(-1)


def _texts(request):
    """The token ids of each text, or None if the lengths do not match the tokens."""
    ids, lengths = _input(request, "input_ids"), _input(request, "lengths")
    if (lengths < 1).any() or lengths.sum() != ids.size:
        return None
    return np.split(ids, np.cumsum(lengths)[:-1]) if lengths.size else []


def _failure(message, code):
    """An error response. Triton 2.51 crashes if two responses share one error."""
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(message, code))


class _Callers:
    """The callers of one execution, with the number of texts of each in ``counts``."""

    def __init__(self, requests, counts):
        self._requests, self._owners = requests, np.repeat(np.arange(len(requests)), counts)
        self._polled_at = 0.0
        self.waiting = np.ones(len(requests), bool)

    def wait(self, texts):
        """Whether a caller still waits for any of the texts with these indices."""
        if time.monotonic() - self._polled_at > _POLL_SECONDS:
            self.waiting = np.array([not request.is_cancelled() for request in self._requests])
            self._polled_at = time.monotonic()
        return self.waiting[self._owners[texts]].any()


class TritonPythonModel:
    """One instance: a process with its own weights."""

    def initialize(self, args):
        config = json.loads(args["model_config"])
        self._output = config["output"][0]["name"]
        threads = threads_of(config["parameters"]["intra_threads"]["string_value"])
        self._model = TextModel(Path(args["model_repository"]) / args["model_version"], threads)

    def execute(self, requests):
        given = [_texts(request) for request in requests]
        counts = [len(texts or []) for texts in given]
        callers = _Callers(requests, counts)
        asked = np.array([_WEIGHTS in request.requested_output_names() for request in requests])
        try:
            rows, weights = self._model.weigh(
                [text for texts in given for text in texts or []], np.repeat(asked, counts), callers.wait
            )
        except Exception as error:  # Boundary: an exception that leaves here would send file paths to clients.
            pb_utils.Logger.log_error(f"texts failed: {error!r}")
            return [_failure("texts failed", pb_utils.TritonError.INTERNAL) for _ in requests]
        ends = np.cumsum(counts)
        parts = [(rows[end - count : end], weights[end - count : end]) for end, count in zip(ends, counts, strict=True)]
        return [self._response(*each) for each in zip(given, callers.waiting, parts, asked, strict=True)]

    def _response(self, texts, waiting, part, asked):
        if texts is None:
            return _failure("lengths are not those of the tokens", pb_utils.TritonError.INVALID_ARG)
        if not waiting:
            return _failure("cancelled", pb_utils.TritonError.CANCELLED)
        rows, weights = part
        tensors = [pb_utils.Tensor(self._output, rows[None])]
        # A request that names no outputs asks for all that there are.
        if asked and self._model.weighs:
            tensors.append(pb_utils.Tensor(_WEIGHTS, np.concatenate([*weights, np.zeros(0, np.float32)])[None]))
        return pb_utils.InferenceResponse(tensors)
