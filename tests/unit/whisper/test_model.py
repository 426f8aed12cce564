"""Triton's Python model of Whisper, with fakes of Triton's module and of the recognizer."""

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from tests import python_backend
from tests.conftest import ROOT
from tests.python_backend import Response, Sender, Tensor, TritonError

OF_THE_WINDOW = ("language", "avg_logprob", "no_speech_prob")
OF_WORDS = ("word_start", "word_end", "word_text", "word_probability")


@dataclass
class Request:
    text: str
    cancelled: bool = False
    # None without the optional input.
    translate: bool | None = None
    language: bytes = b"de"
    sender: Sender = field(default_factory=Sender)

    def tensor(self, name: str) -> Tensor | None:
        if name == "translate" and self.translate is None:
            return None
        values: dict[str, Any] = {
            "audio": np.full((1, len(self.text)), 0.5, np.float32),
            "language": np.array([[self.language]], np.object_),
            "prompt": np.array([[self.text.encode()]], np.object_),
            "temperature": np.array([[0.25]], np.float32),
            "translate": np.array([[self.translate]]),
        }
        return Tensor(name, values[name])

    def is_cancelled(self) -> bool:
        return self.cancelled

    def get_response_sender(self) -> Sender:
        return self.sender


class Recognizer:
    """Answers a window with its prompt and another word; ``bad`` is refused, ``broken`` raises.

    Windows whose caller is gone have no answer.
    """

    def __init__(self, code: ModuleType, folder: Path, **settings: Any) -> None:
        self.code, self.folder, self.settings = code, folder, settings
        self.batches: list[list[Any]] = []
        # Called before each answer.
        self.before: Callable[[], None] = lambda: None
        self.is_usable = True

    def works(self) -> bool:
        return self.is_usable

    def check(self, window: Any) -> None:
        if window.prompt == "bad":
            raise self.code.InvalidWindowError("a bad window")

    def answers(self, windows: Sequence[Any], is_gone: Callable[[int], bool]) -> Iterator[tuple[int, Any]]:
        if windows:
            self.batches.append(list(windows))
        parts = importlib.import_module("transcript")
        # The last one first.
        for place, window in reversed(list(enumerate(windows))):
            self.before()
            if window.prompt == "broken":
                raise RuntimeError("/secret/path")
            words = [parts.Word(0.25, 0.5, window.prompt, 0.75), parts.Word(2.25, 2.5, " ö", 0.125)]
            if not is_gone(place):
                yield place, self.code.Transcript("de", words, avg_logprob=-0.5, no_speech_prob=0.25)


@pytest.fixture
def model(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    python_backend.install_fake(monkeypatch, Request.tensor)
    monkeypatch.delitem(sys.modules, "model", raising=False)
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "ORT_DISABLE_TELEMETRY"):
        monkeypatch.setenv(name, "")
    monkeypatch.syspath_prepend(str(Path(str(module.__file__)).parent))  # other models have a model.py too
    code = importlib.import_module("model")
    monkeypatch.setattr(code, "Recognizer", lambda folder, **settings: Recognizer(module, folder, **settings))

    def make(kind: str = "CPU") -> Any:
        parameters = {"intra_threads": "3", "compute_type": "int8", "beam_size": "4"}
        config = {"parameters": {name: {"string_value": value} for name, value in parameters.items()}}
        arguments = {"model_config": json.dumps(config), "model_repository": "/models/whisper", "model_version": "1"}
        model = code.TritonPythonModel()
        model.initialize({**arguments, "model_instance_kind": kind, "model_instance_device_id": "1"})
        return model

    yield make
    monkeypatch.delitem(sys.modules, "model")


def _answers(model: Any, *requests: Request) -> list[Response]:
    """The answers to requests, which all have one."""
    assert model.execute(list(requests)) is None
    answers = [request.sender.answer for request in requests]
    assert None not in answers
    return [answer for answer in answers if answer is not None]


@pytest.mark.parametrize(("kind", "device"), [("CPU", "cpu"), ("GPU", "cuda")])
def test_the_configuration_of_its_place_is_used(model: Callable[..., Any], kind: str, device: str) -> None:
    recognizer = model(kind)._recognizer
    assert recognizer.folder == Path("/models/whisper/1/whisper")
    assert recognizer.settings == {
        "device": device,
        "device_index": 1,
        "compute_type": "int8",
        "threads": 3,
        "beam_size": 4,
    }


def test_a_request_is_a_window(model: Callable[..., Any]) -> None:
    made = model()
    made.execute([Request("grüezi")])
    ((window,),) = made._recognizer.batches
    assert (window.language, window.prompt, window.temperature) == ("de", "grüezi", 0.25)
    assert window.audio.tolist() == [0.5] * 6


def test_a_request_may_have_several_languages_to_choose_from(model: Callable[..., Any]) -> None:
    made = model()
    made.execute([Request("one", language=b"de,fr"), Request("two", language=b""), Request("three", language=b"de")])
    chosen = [(window.language, tuple(window.among)) for window in made._recognizer.batches[0]]
    assert chosen == [("", ("de", "fr")), ("", ()), ("de", ())]


def test_a_request_may_ask_for_a_translation(model: Callable[..., Any]) -> None:
    made = model()
    made.execute([Request("one"), Request("two", translate=True), Request("three", translate=False)])
    assert [window.translate for window in made._recognizer.batches[0]] == [False, True, False]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("language", [b"de"]),
        ("avg_logprob", [-0.5]),
        ("no_speech_prob", [0.25]),
        ("word_start", [0.25, 2.25]),
        ("word_end", [0.5, 2.5]),
        ("word_text", [b"hello", " ö".encode()]),
        ("word_probability", [0.75, 0.125]),
    ],
)
def test_every_part_of_a_transcript_has_its_tensor(model: Callable[..., Any], name: str, values: list[Any]) -> None:
    (response,) = _answers(model(), Request("hello"))
    assert response.list_of(name) == values


@pytest.mark.parametrize("name", ["whisper_turbo", "whisper_large_v3"])
def test_the_outputs_match_the_configuration(model: Callable[..., Any], name: str) -> None:
    text = (ROOT / "model_repository" / name / "config.pbtxt").read_text(encoding="utf-8")
    outputs = text_format.Parse(text, model_config_pb2.ModelConfig()).output
    (response,) = _answers(model(), Request("hello"))
    given = {tensor.name: tensor.values.dtype for tensor in response.output_tensors}
    kinds = {model_config_pb2.TYPE_FP32: np.float32, model_config_pb2.TYPE_STRING: np.object_}
    assert given == {output.name: kinds[output.data_type] for output in outputs}


def test_an_empty_window_gets_an_empty_transcript(model: Callable[..., Any]) -> None:
    made = model()
    (response,) = _answers(made, Request(""))
    assert [response.list_of(name) for name in OF_WORDS] == [[]] * 4
    assert [response.list_of(name) for name in OF_THE_WINDOW] == [[b"de"], [0.0], [0.0]]
    assert made._recognizer.batches == []


def test_a_cancelled_request_costs_nothing_and_the_others_have_their_own_answers(model: Callable[..., Any]) -> None:
    made = model()
    gone, first, second = _answers(made, Request("gone", cancelled=True), Request("first"), Request("second"))
    assert gone.error is not None
    assert gone.error.args == ("cancelled", TritonError.CANCELLED)
    assert [response.list_of("word_text")[0] for response in (first, second)] == [b"first", b"second"]
    assert [[window.prompt for window in batch] for batch in made._recognizer.batches] == [["first", "second"]]


def test_a_batch_without_callers_is_not_transcribed(model: Callable[..., Any]) -> None:
    made = model()
    made.execute([Request("gone", cancelled=True)])
    assert made._recognizer.batches == []


def test_an_invalid_window_gets_an_error_and_its_neighbours_get_answers(model: Callable[..., Any]) -> None:
    good, bad = _answers(model(), Request("good"), Request("bad"))
    assert good.list_of("word_text")[0] == b"good"
    assert bad.error is not None
    assert bad.error.args == ("a bad window", TritonError.INVALID_ARG)


def test_an_internal_error_does_not_show_its_reason(model: Callable[..., Any]) -> None:
    (response,) = _answers(model(), Request("broken"))
    assert response.error is not None
    assert response.error.args == ("transcription failed", TritonError.INTERNAL)


def test_each_request_is_answered_when_its_window_is_done(model: Callable[..., Any]) -> None:
    made, requests = model(), [Request("first"), Request("second"), Request("third")]
    answered: list[list[bool]] = []
    made._recognizer.before = lambda: answered.append([request.sender.answer is not None for request in requests])
    _answers(made, *requests)
    assert answered == [[False, False, False], [False, False, True], [False, True, True]]


def test_who_is_answered_before_a_failure_keeps_the_answer(model: Callable[..., Any]) -> None:
    first, broken, last = _answers(model(), Request("first"), Request("broken"), Request("last"))
    assert last.list_of("word_text")[0] == b"last"
    for response in (first, broken):
        assert response.error is not None
        assert response.error.args == ("transcription failed", TritonError.INTERNAL)


@pytest.mark.parametrize(
    ("kind", "is_usable", "ends"), [("GPU", False, True), ("GPU", True, False), ("CPU", False, False)]
)
def test_a_process_that_cannot_use_its_gpu_after_a_failure_answers_and_ends(
    model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, kind: str, is_usable: bool, ends: bool
) -> None:
    made, broken = model(kind), Request("broken")
    made._recognizer.is_usable = is_usable
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    (response,) = _answers(made, broken)
    assert response.error is not None
    assert codes == [1] * ends


def test_who_leaves_while_others_are_heard_is_cancelled(model: Callable[..., Any]) -> None:
    made, requests = model(), [Request("leaves"), Request("stays")]

    def leave() -> None:
        requests[0].cancelled = requests[1].sender.answer is not None

    made._recognizer.before = leave
    left, stays = _answers(made, *requests)
    assert stays.list_of("word_text")[0] == b"stays"
    assert left.error is not None
    assert left.error.args == ("cancelled", TritonError.CANCELLED)


def test_a_request_that_cannot_be_read_fails_alone(model: Callable[..., Any]) -> None:
    wrong, good = _answers(model(), Request("wrong", language=b"\xff"), Request("good"))
    assert good.list_of("word_text")[0] == b"good"
    assert wrong.error is not None
    assert wrong.error.args == ("transcription failed", TritonError.INTERNAL)
