"""The ONNX backend of the embedded Triton answers as the C++ one does."""

import json
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests import python_backend
from tests.conftest import ROOT
from tests.python_backend import Tensor, TritonError

BACKEND = ROOT / "scripts" / "local_triton" / "backends" / "onnxruntime"
CONFIG: dict[str, Any] = {
    "max_batch_size": 0,
    "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": ["-1", "2"]}],
    "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": ["-1", "2"]}],
    "parameters": {"intra_op_thread_count": {"string_value": "1"}, "enable_mem_pattern": {"string_value": "0"}},
}


class Request:
    """Numbers for the model. ``cancelled`` is true when the caller has disconnected."""

    def __init__(self, *values: float, cancelled: bool = False) -> None:
        self.values, self.cancelled = np.array([values], np.float32), cancelled

    def is_cancelled(self) -> bool:
        return self.cancelled

    def requested_output_names(self) -> set[str]:
        return {"y"}


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The backend's module, as Triton loads it from its own folder."""
    python_backend.install_fake(monkeypatch, lambda request, name: Tensor(name, request.values))
    return python_backend.load(BACKEND / "model.py", "onnx_backend")


def _start(backend: ModuleType, folder: Path, *nodes: onnx.NodeProto) -> Any:
    """An instance of a model from x [any, 2] to y [any, 2]."""
    sides = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 2]) for name in "xy"]
    graph = helper.make_graph(list(nodes), "model", sides[:1], sides[1:])
    (folder / "1").mkdir()
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), folder / "1" / "model.onnx")
    started = backend.TritonPythonModel()
    started.initialize({"model_config": json.dumps(CONFIG), "model_repository": str(folder), "model_version": "1"})
    return started


DOUBLE = helper.make_node("Add", ["x", "x"], ["y"])


def test_each_request_is_answered_in_order_and_a_cancelled_one_is_not_run(backend: ModuleType, tmp_path: Path) -> None:
    instance = _start(backend, tmp_path, DOUBLE)
    answers = instance.execute([Request(1, 2), Request(9, 9, cancelled=True), Request(3, 4)])
    assert [answer.list_of("y") for answer in (answers[0], answers[2])] == [[2, 4], [6, 8]]
    assert (answers[1].error.args[1], answers[1].output_tensors) == (TritonError.CANCELLED, [])


def test_empty_inputs_get_empty_outputs(backend: ModuleType, tmp_path: Path) -> None:
    (answer,) = _start(backend, tmp_path, DOUBLE).execute([Request()])
    (output,) = answer.output_tensors
    assert (output.name, output.values.shape, output.values.dtype) == ("y", (0, 2), np.float32)


def test_a_failed_run_is_an_error(backend: ModuleType, tmp_path: Path) -> None:
    (answer,) = _start(backend, tmp_path, DOUBLE).execute([Request(1, 2, 3)])
    assert answer.error.args[1] == TritonError.INTERNAL


def _long() -> list[onnx.NodeProto]:
    """A loop that adds x so often that a run takes a minute."""
    integer, truth = (
        helper.make_tensor_value_info(n, t, []) for n, t in (("i", TensorProto.INT64), ("go", TensorProto.BOOL))
    )
    before, after = (helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("sum", "next"))
    body = helper.make_graph(
        [helper.make_node("Add", ["sum", "x"], ["next"]), helper.make_node("Identity", ["go"], ["goes"])],
        "body",
        [integer, truth, before],
        [helper.make_tensor_value_info("goes", TensorProto.BOOL, []), after],
    )
    times = helper.make_tensor("times", TensorProto.INT64, [], [10**7])
    return [
        helper.make_node("Constant", [], ["count"], value=times),
        helper.make_node("Loop", ["count", "", "x"], ["y"], body=body),
    ]


def test_a_run_ends_soon_after_its_caller_has_disconnected(backend: ModuleType, tmp_path: Path) -> None:
    instance, request = _start(backend, tmp_path, *_long()), Request(1, 2)
    began = time.monotonic()
    threading.Timer(0.2, setattr, (request, "cancelled", True)).start()
    (answer,) = instance.execute([request])
    assert answer.error.args[1] == TritonError.INTERNAL
    assert 0.2 <= time.monotonic() - began < 10


def test_parameters_reach_the_session(backend: ModuleType) -> None:
    options = backend._options({"parameters": {**CONFIG["parameters"], "unknown": {"string_value": "x"}}})
    assert (options.intra_op_num_threads, options.enable_mem_pattern) == (1, False)
