"""What the ONNX stand-in answers, with Triton's own module played by a few small classes."""

import importlib.util
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from tests import python_backend
from tests.python_backend import Tensor, TritonError
from tests.unit.local_triton.backends.onnxruntime import stand_in
from tests.unit.local_triton.backends.onnxruntime.stand_in import BACKEND, batching, session, watch


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


RAGGED = stand_in.model_config.check(stand_in.RAGGED, stand_in.INPUTS, stand_in.OUTPUTS)
DENSE = stand_in.model_config.check(stand_in.DENSE, stand_in.DENSE_INPUTS, stand_in.DENSE_OUTPUTS)


def test_ragged_requests_are_joined_end_to_end() -> None:
    requests = [{"ids": np.arange(n)[None], "lengths": np.array([[n]])} for n in (2, 3)]
    assert batching.join(RAGGED, requests)["ids"].tolist() == [0, 1, 0, 1, 2]


def test_each_request_gets_its_rows_back() -> None:
    requests = [{"ids": None, "lengths": np.zeros((1, texts))} for texts in (2, 1)]
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    first, second = batching.split(RAGGED, requests, "vector", rows)
    assert first.shape == (1, 2, 4)
    assert second.tolist() == [[rows[2].tolist()]]


def test_dense_requests_are_joined_along_the_batch() -> None:
    requests = [{"x": np.full((n, 3), n)} for n in (1, 2)]
    parts = batching.split(DENSE, requests, "y", batching.join(DENSE, requests)["x"][:, :2])
    assert [part.tolist() for part in parts] == [[[1, 1]], [[2, 2], [2, 2]]]


def test_a_wrong_number_of_rows_is_noticed() -> None:
    with pytest.raises(ValueError, match="elements"):
        batching.split(RAGGED, [{"lengths": np.zeros((1, 2))}], "vector", np.zeros((3, 4)))


def test_parameters_reach_the_session() -> None:
    config = {
        "parameters": {
            "intra_op_thread_count": {"string_value": "3"},
            "enable_mem_pattern": {"string_value": "0"},
            "unknown": {"string_value": "x"},
        },
        "optimization": {"graph": {"level": 2}},
    }
    options = session.options(config)
    assert options.intra_op_num_threads == 3
    assert not options.enable_mem_pattern
    assert options.graph_optimization_level == ort.GraphOptimizationLevel.ORT_DISABLE_ALL


@pytest.mark.parametrize(("kind", "first"), [("CPU", "CPUExecutionProvider"), ("GPU", "CUDAExecutionProvider")])
def test_an_instance_kind_chooses_the_provider(kind: str, first: str) -> None:
    provider = session.providers(kind, 0)[0]
    assert (provider if isinstance(provider, str) else provider[0]) == first


class _Request:
    """As Triton's: cancelled or not."""

    def __init__(self, cancelled: bool) -> None:
        self.cancelled = cancelled

    def is_cancelled(self) -> bool:
        return self.cancelled


@pytest.mark.parametrize(("cancelled", "ends"), [([True, True], True), ([True, False], False), ([False], False)])
def test_a_run_is_ended_when_nobody_waits_for_it(cancelled: list[bool], ends: bool) -> None:
    options = ort.RunOptions()
    with watch.Watch().over([_Request(gone) for gone in cancelled], options):
        deadline = time.monotonic() + (5 if ends else 0.3)
        while not options.terminate and time.monotonic() < deadline:
            time.sleep(0.01)
    assert options.terminate == ends


def test_a_request_is_not_asked_after_its_run() -> None:
    watching, options, late = watch.Watch(), ort.RunOptions(), ort.RunOptions()
    request = _Request(False)
    with watching.over([request], options):
        pass
    request.cancelled = True
    with watching.over([_Request(False)], late):
        time.sleep(0.2)
    assert not options.terminate
    assert not late.terminate
