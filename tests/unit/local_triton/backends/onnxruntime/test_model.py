"""What the ONNX stand-in answers, with Triton's own module played by a few small classes."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests import python_backend
from tests.python_backend import Tensor, TritonError
from tests.unit.local_triton.backends.onnxruntime.stand_in import BACKEND


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
    python_backend.put_in(monkeypatch, lambda request, name: Tensor(name, request.values))
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


@pytest.fixture
def runs(instance: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many requests each run of the model will have had."""
    runs: list[int] = []
    real = instance._run

    def run(requests: list[Request], given: Any) -> Any:
        runs.append(len(requests))
        return real(requests, given)

    monkeypatch.setattr(instance, "_run", run)
    return runs


def test_requests_are_answered_together_and_in_order(instance: Any, runs: list[int]) -> None:
    answers = instance.execute([Request(1, 2), Request(3, 4)])
    assert [answer.list_of("y") for answer in answers] == [[2, 4], [6, 8]]
    assert runs == [2]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_request_that_nobody_waits_for_is_answered_so_and_not_run(instance: Any, runs: list[int], place: int) -> None:
    requests = [Request(1, 2), Request(3, 4)]
    requests.insert(place, Request(9, 9, cancelled=True))
    answers = instance.execute(requests)
    gone = answers.pop(place)
    assert (gone.error.args[1], gone.output_tensors) == (TritonError.CANCELLED, [])
    assert [answer.list_of("y") for answer in answers] == [[2, 4], [6, 8]]
    assert runs == [2]


def test_where_all_have_gone_nothing_is_run(instance: Any, runs: list[int]) -> None:
    answers = instance.execute([Request(1, 2, cancelled=True), Request(3, 4, cancelled=True)])
    assert [answer.error.args[1] for answer in answers] == [TritonError.CANCELLED] * 2
    assert runs == []


def test_each_request_of_a_failed_run_has_an_error_of_its_own(instance: Any) -> None:
    """Triton 2.51 crashes when two responses share one."""
    first, second = instance.execute([Request(1, 2), Request(1, 2, 3)])
    assert first.error.args[1] == second.error.args[1] == TritonError.INTERNAL
    assert first.error is not second.error
