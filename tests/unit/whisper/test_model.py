"""Triton's Python model around the recognizer, with as little of Triton as it needs."""

import importlib.util
import json
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT


@dataclass
class Tensor:
    name: str
    values: Any

    def as_numpy(self) -> Any:
        return self.values


@dataclass
class Response:
    tensors: list[Tensor]


class Request:
    """Audio of so many samples, and defaults besides."""

    def __init__(self, samples: int) -> None:
        self.inputs = {
            "audio": np.zeros((1, samples), np.float32),
            "language": np.array([[b""]], np.object_),
            "prompt": np.array([[b""]], np.object_),
            "temperature": np.zeros((1, 1), np.float32),
            "word_timestamps": np.zeros((1, 1), np.bool_),
        }

    def is_cancelled(self) -> bool:
        return False


class NoRecognizer:
    """Keeps what it was made with, and hears nothing."""

    def __init__(self, folder: Any, **settings: Any) -> None:
        self.settings = settings

    def transcribe(self, windows: list[Any]) -> list[Any]:
        raise AssertionError("nothing is to be transcribed")


@pytest.fixture
def model(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    utils = ModuleType("triton_python_backend_utils")
    utils.Tensor, utils.InferenceResponse = Tensor, Response  # type: ignore[attr-defined]
    utils.get_input_tensor_by_name = lambda request, name: Tensor(name, request.inputs[name])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, utils.__name__, utils)
    path = ROOT / "model_repository" / "whisper_turbo" / "1" / "model.py"
    spec = importlib.util.spec_from_file_location("whisper_model", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec.loader.exec_module(made)
    monkeypatch.setattr(made, "Recognizer", NoRecognizer)
    return made


def _started(model: ModuleType, kind: str, device: str) -> Any:
    parameters = {"compute_type": "default", "intra_threads": "1", "beam_size": "1"}
    config = {"parameters": {name: {"string_value": value} for name, value in parameters.items()}}
    instance = model.TritonPythonModel()
    instance.initialize(
        {
            "model_config": json.dumps(config),
            "model_repository": "/models/whisper_turbo",
            "model_version": "1",
            "model_instance_kind": kind,
            "model_instance_device_id": device,
        }
    )
    return instance


@pytest.mark.parametrize(("kind", "device", "expected"), [("GPU", "1", ("cuda", 1)), ("CPU", "0", ("cpu", 0))])
def test_an_instance_runs_on_its_own_device(
    model: ModuleType, kind: str, device: str, expected: tuple[str, int]
) -> None:
    settings = _started(model, kind, device)._recognizer.settings
    assert (settings["device"], settings["device_index"]) == expected


def test_a_call_of_nothing_is_answered_with_nothing(model: ModuleType) -> None:
    (response,) = _started(model, "CPU", "0").execute([Request(0)])
    shapes = {tensor.name: tensor.values.shape for tensor in response.tensors}
    assert shapes == {name: (1, 1 if name == "language" else 0) for name in shapes}
