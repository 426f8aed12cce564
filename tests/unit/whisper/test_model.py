"""Triton's Python model of Whisper, with a stand-in for what Triton gives it and one for the recognizer."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests import python_backend
from tests.python_backend import Tensor, TritonError


@dataclass
class Request:
    text: str
    cancelled: bool = False

    def tensor(self, name: str) -> Tensor:
        values: dict[str, Any] = {
            "audio": np.full((1, len(self.text)), 0.5, np.float32),
            "language": np.array([[b"de"]], np.object_),
            "prompt": np.array([[self.text.encode()]], np.object_),
            "temperature": np.array([[0.25]], np.float32),
            "word_timestamps": np.array([[True]]),
        }
        return Tensor(name, values[name])

    def is_cancelled(self) -> bool:
        return self.cancelled


class Recognizer:
    """Answers a window with its prompt, said by two segments of two words; ``bad`` is refused, ``broken`` raises."""

    def __init__(self, code: ModuleType, folder: Path, **settings: Any) -> None:
        self.code, self.folder, self.settings = code, folder, settings
        self.batches: list[list[Any]] = []

    def transcribe(self, windows: Sequence[Any]) -> list[Any]:
        self.batches.append(list(windows))
        code, parts = self.code, importlib.import_module("transcript")
        if any(window.prompt == "bad" for window in windows):
            raise code.InvalidWindowError("a bad window")
        if any(window.prompt == "broken" for window in windows):
            raise RuntimeError("/secret/path")
        return [
            code.Transcript(
                "de",
                [parts.Segment(0.0, 1.0, [1], window.prompt), parts.Segment(2.0, 3.0, [2], "ö")],
                avg_logprob=-0.5,
                no_speech_prob=0.25,
                words=[parts.Word(0.25, 0.5, "a", 0.75, 0), parts.Word(2.25, 2.5, "ö", 0.125, 1)],
            )
            for window in windows
        ]


@pytest.fixture
def model(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    python_backend.put_in(monkeypatch, Request.tensor)
    monkeypatch.delitem(sys.modules, "model", raising=False)
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "ORT_DISABLE_TELEMETRY"):
        monkeypatch.setenv(name, "")
    monkeypatch.syspath_prepend(str(Path(str(module.__file__)).parent))  # the stand-in's backend has a model.py too
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
    assert (window.language, window.prompt, window.temperature, window.word_timestamps) == ("de", "grüezi", 0.25, True)
    assert window.audio.tolist() == [0.5] * 6


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("language", [b"de"]),
        ("segment_start", [0.0, 2.0]),
        ("segment_end", [1.0, 3.0]),
        ("segment_text", [b"hello", "ö".encode()]),
        ("segment_avg_logprob", [-0.5, -0.5]),
        ("segment_no_speech_prob", [0.25, 0.25]),
        ("word_start", [0.25, 2.25]),
        ("word_end", [0.5, 2.5]),
        ("word_text", [b"a", "ö".encode()]),
        ("word_probability", [0.75, 0.125]),
        ("word_segment", [0, 1]),
    ],
)
def test_every_part_of_a_transcript_has_its_tensor(model: Callable[..., Any], name: str, values: list[Any]) -> None:
    (response,) = model().execute([Request("hello")])
    assert response.list_of(name) == values


def test_a_call_of_nothing_is_answered_with_nothing(model: Callable[..., Any]) -> None:
    made = model()
    (response,) = made.execute([Request("")])
    shapes = {tensor.name: tensor.values.shape for tensor in response.output_tensors}
    assert shapes == {name: (1, 1 if name == "language" else 0) for name in shapes}
    assert made._recognizer.batches == []


def test_who_has_gone_costs_nothing_and_the_others_have_their_own_answers(model: Callable[..., Any]) -> None:
    made = model()
    gone, first, second = made.execute([Request("gone", cancelled=True), Request("first"), Request("second")])
    assert gone.error.args == ("cancelled", TritonError.CANCELLED)
    assert [response.list_of("segment_text")[0] for response in (first, second)] == [b"first", b"second"]
    assert [[window.prompt for window in batch] for batch in made._recognizer.batches] == [["first", "second"]]


def test_a_batch_of_callers_who_have_all_gone_is_not_transcribed(model: Callable[..., Any]) -> None:
    made = model()
    made.execute([Request("gone", cancelled=True)])
    assert made._recognizer.batches == []


def test_a_bad_window_is_told_so_and_its_neighbours_are_answered(model: Callable[..., Any]) -> None:
    good, bad = model().execute([Request("good"), Request("bad")])
    assert good.list_of("segment_text")[0] == b"good"
    assert bad.error.args == ("a bad window", TritonError.INVALID_ARG)


def test_what_went_wrong_inside_is_not_told(model: Callable[..., Any]) -> None:
    (response,) = model().execute([Request("broken")])
    assert response.error.args == ("transcription failed", TritonError.INTERNAL)
