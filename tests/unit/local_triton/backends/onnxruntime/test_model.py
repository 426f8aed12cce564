"""What the ONNX stand-in answers, with Triton's own module played by a few small classes."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.unit.local_triton.backends.onnxruntime.stand_in import BACKEND

CANCELLED, INTERNAL = 1, 13


class Tensor:
    def __init__(self, name: str, values: Any) -> None:
        self.name, self._values = name, values

    def as_numpy(self) -> Any:
        return self._values


class TritonError(Exception):
    CANCELLED, INTERNAL = CANCELLED, INTERNAL

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class InferenceResponse:
    def __init__(self, output_tensors: list[Tensor] | None = None, error: TritonError | None = None) -> None:
        self.outputs, self.error = output_tensors or [], error


class Request:
    """Numbers to double; ``cancelled`` once its caller has gone."""

    def __init__(self, *values: float, cancelled: bool = False) -> None:
        self.values, self.cancelled = np.array([values], np.float32), cancelled

    def is_cancelled(self) -> bool:
        return self.cancelled

    def requested_output_names(self) -> list[str]:
        return ["y"]


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An instance of a model that doubles what it is given, and counts in ``sizes`` what each run had."""
    utils = ModuleType("triton_python_backend_utils")
    vars(utils).update(Tensor=Tensor, TritonError=TritonError, InferenceResponse=InferenceResponse)
    vars(utils)["get_input_tensor_by_name"] = lambda request, name: Tensor(name, request.values)
    vars(utils)["triton_string_to_numpy"] = {"TYPE_FP32": np.float32}.__getitem__
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", utils)
    spec = importlib.util.spec_from_file_location("stand_in_model", BACKEND / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sides = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 2]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "double", sides[:1], sides[1:])
    (tmp_path / "1").mkdir()
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "1" / "model.onnx")
    config = """{"max_batch_size": 8, "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": ["2"]}],
                 "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": ["2"]}]}"""
    started = module.TritonPythonModel()
    started.initialize(
        {
            "model_config": config,
            "model_repository": str(tmp_path),
            "model_version": "1",
            "model_instance_kind": "CPU",
            "model_instance_device_id": "0",
        }
    )
    return started


def _runs(instance: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many requests each run of the model will have had."""
    runs: list[int] = []
    real = instance._run

    def run(requests: list[Request], given: Any) -> Any:
        runs.append(len(requests))
        return real(requests, given)

    monkeypatch.setattr(instance, "_run", run)
    return runs


def test_requests_are_answered_together_and_in_order(instance: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = _runs(instance, monkeypatch)
    answers = instance.execute([Request(1, 2), Request(3, 4)])
    assert [answer.outputs[0].as_numpy().tolist() for answer in answers] == [[[2, 4]], [[6, 8]]]
    assert runs == [2]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_request_that_nobody_waits_for_is_answered_so_and_not_run(
    instance: Any, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    runs = _runs(instance, monkeypatch)
    requests = [Request(1, 2), Request(3, 4)]
    requests.insert(place, Request(9, 9, cancelled=True))
    answers = instance.execute(requests)
    gone = answers.pop(place)
    assert (gone.error.code, gone.outputs) == (CANCELLED, [])
    assert [answer.outputs[0].as_numpy().tolist() for answer in answers] == [[[2, 4]], [[6, 8]]]
    assert runs == [2]


def test_where_all_have_gone_nothing_is_run(instance: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = _runs(instance, monkeypatch)
    answers = instance.execute([Request(1, 2, cancelled=True), Request(3, 4, cancelled=True)])
    assert [answer.error.code for answer in answers] == [CANCELLED, CANCELLED]
    assert runs == []


def test_each_request_of_a_failed_run_has_an_error_of_its_own(instance: Any) -> None:
    """Triton 2.51 crashes when two responses share one."""
    first, second = instance.execute([Request(1, 2), Request(1, 2, 3)])
    assert (first.error.code, second.error.code) == (INTERNAL, INTERNAL)
    assert first.error is not second.error
