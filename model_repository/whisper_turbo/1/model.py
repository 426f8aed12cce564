"""Triton's Python model for Whisper: tensors to windows, transcripts to tensors. ``recognizer.py`` does the work."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# CTranslate2's threads synchronise some hundred times per token. By default they sleep in between, which costs a
# quarter of decoding time. Let them spin for some microseconds first: on busy processors ten times as long doubles the
# processor time of a window, because they spin for threads that do not run. OpenMP reads this when it is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "active")
os.environ.setdefault("GOMP_SPINCOUNT", "3000")

from recognizer import Recognizer
from threads import threads_of
from windows import InvalidWindowError, Transcript, Window


def _scalar(request, name):
    return pb_utils.get_input_tensor_by_name(request, name).as_numpy().reshape(-1)[0]


def _window(request):
    translate = pb_utils.get_input_tensor_by_name(request, "translate")
    # One language, none, or several to choose from.
    first, *others = dict.fromkeys(_scalar(request, "language").decode().split(","))
    return Window(
        audio=pb_utils.get_input_tensor_by_name(request, "audio").as_numpy().reshape(-1),
        language="" if others else first,
        prompt=_scalar(request, "prompt").decode(),
        temperature=float(_scalar(request, "temperature")),
        translate=translate is not None and bool(translate.as_numpy().reshape(-1)[0]),
        among=(first, *others) if others else (),
    )


def _tensor(name, values, dtype):
    if dtype is np.object_:
        values = [value.encode() for value in values]
    return pb_utils.Tensor(name, np.array(values, dtype).reshape(1, -1))


def _response(transcript):
    words = transcript.words
    return pb_utils.InferenceResponse(
        [
            _tensor("language", [transcript.language], np.object_),
            _tensor("avg_logprob", [transcript.avg_logprob], np.float32),
            _tensor("no_speech_prob", [transcript.no_speech_prob], np.float32),
            _tensor("word_start", [word.start for word in words], np.float32),
            _tensor("word_end", [word.end for word in words], np.float32),
            _tensor("word_text", [word.text for word in words], np.object_),
            _tensor("word_probability", [word.probability for word in words], np.float32),
        ]
    )


def _failure(message, code):
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(message, code))


class _Call:
    """A request, which is answered once."""

    def __init__(self, request):
        self.is_gone, self._sender = request.is_cancelled, request.get_response_sender()
        self.window, self.is_open = None, True

    def answer(self, response):
        self.is_open = False
        self._sender.send(response, flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def fail(self, message, code):
        self.answer(_failure(message, code))


class TritonPythonModel:
    """One instance: a process with its own weights."""

    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        settings = {key: entry["string_value"] for key, entry in parameters.items()}
        folder = Path(args["model_repository"]) / args["model_version"] / "whisper"
        self._on_gpu = args["model_instance_kind"] == "GPU"
        self._recognizer = Recognizer(
            folder,
            device="cuda" if self._on_gpu else "cpu",
            device_index=int(args["model_instance_device_id"]),
            compute_type=settings["compute_type"],
            threads=threads_of(settings["intra_threads"]),
            beam_size=int(settings["beam_size"]),
        )

    def execute(self, requests):
        """Answer each request when it is done. An exception that left here after an answer would end Triton."""
        calls = [_Call(request) for request in requests]
        for call, request in zip(calls, requests, strict=True):
            try:
                self._begin(call, request)
            except InvalidWindowError as error:
                call.fail(str(error), pb_utils.TritonError.INVALID_ARG)
            except Exception as error:  # Boundary, as below.
                self._failed(error, [call])
        calls = [call for call in calls if call.is_open]
        try:
            windows = [call.window for call in calls]
            for place, transcript in self._recognizer.answers(windows, lambda place: calls[place].is_gone()):
                calls[place].answer(_response(transcript))
            for call in calls:
                if call.is_open:
                    call.fail("cancelled", pb_utils.TritonError.CANCELLED)
        except Exception as error:  # Boundary: an exception that leaves here would send file paths to clients.
            self._failed(error, calls)
            if self._on_gpu and not self._recognizer.works():
                pb_utils.Logger.log_error("this process has lost its GPU, and ends so that another starts")
                os._exit(1)

    def _begin(self, call, request):
        """Read a request, and answer it if there is nothing to hear for its caller."""
        # Skip requests whose caller has disconnected.
        if call.is_gone():
            call.fail("cancelled", pb_utils.TritonError.CANCELLED)
            return
        call.window = _window(request)
        if not len(call.window.audio):
            # An empty window is a liveness check.
            call.answer(_response(Transcript(call.window.language, [], 0.0, 0.0)))
            return
        self._recognizer.check(call.window)

    @staticmethod
    def _failed(error, calls):
        pb_utils.Logger.log_error(f"transcription failed: {error!r}")
        for call in calls:
            if call.is_open:
                call.fail("transcription failed", pb_utils.TritonError.INTERNAL)
