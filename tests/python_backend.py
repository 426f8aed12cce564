"""A fake of Triton's module for Python models, with the parts that our models use."""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

FINAL = 1


@dataclass
class Tensor:
    name: str
    values: NDArray[Any]

    def as_numpy(self) -> NDArray[Any]:
        return self.values


class TritonError(Exception):
    CANCELLED, INVALID_ARG, INTERNAL = "cancelled", "invalid", "internal"


@dataclass
class Response:
    output_tensors: list[Tensor] = field(default_factory=list)
    error: TritonError | None = None

    def list_of(self, name: str) -> list[Any]:
        (tensor,) = [tensor for tensor in self.output_tensors if tensor.name == name]
        assert tensor.values.shape[0] == 1
        return list(tensor.values[0].tolist())


@dataclass
class Sender:
    """Notes the one answer to a request."""

    answer: Response | None = None

    def send(self, response: Response, flags: int) -> None:
        assert self.answer is None, "a second answer ends Triton"
        assert flags == FINAL
        self.answer = response


def install_fake(monkeypatch: pytest.MonkeyPatch, tensor_of: Callable[[Any, str], Tensor | None]) -> None:
    """Let models import the fake module; ``tensor_of`` returns an input of a request by name, None if it lacks one."""
    module = ModuleType("triton_python_backend_utils")
    triton: Any = module
    triton.Tensor, triton.InferenceResponse, triton.TritonError = Tensor, Response, TritonError
    triton.TRITONSERVER_RESPONSE_COMPLETE_FINAL = FINAL
    triton.get_input_tensor_by_name = tensor_of
    triton.triton_string_to_numpy = {"TYPE_FP32": np.float32}.__getitem__
    triton.Logger = type("Logger", (), {"log_error": staticmethod(lambda message: None)})
    monkeypatch.setitem(sys.modules, module.__name__, module)


def load(path: Path, name: str) -> ModuleType:
    """The module of a model's ``model.py``, under this name, since every model has a file of that name."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
