"""The ONNX stand-in refuses what Triton's C++ backend refuses, and joins and cuts as it does."""

import copy
import importlib
import sys
import time
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "local_triton" / "backends" / "onnxruntime"))
checks = importlib.import_module("checks")
batching = importlib.import_module("batching")
session = importlib.import_module("session")
watch = importlib.import_module("watch")

Info = checks.TensorInfo
INPUTS = [Info("ids", "tensor(int32)", [-1]), Info("lengths", "tensor(int32)", [-1])]
OUTPUTS = [Info("vector", "tensor(float)", [-1, 4])]
RAGGED: dict[str, Any] = {
    "max_batch_size": 8,
    "input": [
        {"name": "ids", "data_type": "TYPE_INT32", "dims": ["-1"], "allow_ragged_batch": True},
        {"name": "lengths", "data_type": "TYPE_INT32", "dims": ["-1"], "allow_ragged_batch": True},
    ],
    "output": [{"name": "vector", "data_type": "TYPE_FP32", "dims": ["-1", "4"]}],
    "batch_output": [
        {"target_name": ["vector"], "kind": "BATCH_SCATTER_WITH_INPUT_SHAPE", "source_input": ["lengths"]}
    ],
}
DENSE_INPUTS = [Info("x", "tensor(float)", [-1, 3])]
DENSE_OUTPUTS = [Info("y", "tensor(float)", [-1, 2])]
DENSE: dict[str, Any] = {
    "max_batch_size": 4,
    "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": ["3"]}],
    "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": ["2"]}],
}


def _changed(config: dict[str, Any], *path: Any, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(config)
    place: Any = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


@pytest.mark.parametrize(
    "config",
    [
        DENSE,
        _changed(DENSE, "max_batch_size", value=1),
        _changed(
            _changed(_changed(DENSE, "max_batch_size", value=0), "input", 0, "dims", value=["-1", "3"]),
            "output",
            0,
            "dims",
            value=["-1", "2"],
        ),
        # A free dimension of the model may be fixed by the configuration of an input.
        _changed(
            _changed(_changed(DENSE, "max_batch_size", value=0), "input", 0, "dims", value=["5", "3"]),
            "output",
            0,
            "dims",
            value=["-1", "2"],
        ),
    ],
)
def test_a_good_dense_config_loads(config: dict[str, Any]) -> None:
    checks.check(config, DENSE_INPUTS, DENSE_OUTPUTS)


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("input",), [], "inputs"),
        (("input", 0, "name"), "z", "unexpected input"),
        (("input", 0, "data_type"), "TYPE_INT64", "tensor"),
        (("input", 0, "data_type"), "TYPE_STRING", "unsupported"),
        (("input", 0, "dims"), ["4"], "shape"),
        (("input", 0, "dims"), ["3", "1"], "shape"),
        (("input", 0, "optional"), True, "optional"),
        (("input", 0, "allow_ragged_batch"), True, "ragged"),
        (("output", 0, "name"), "z", "unexpected output"),
        (("output", 0, "data_type"), "TYPE_FP16", "tensor"),
        (("output", 0, "dims"), ["-1"], "shape"),
        (("max_batch_size",), 0, "shape"),
        (("batch_input",), [{"kind": "BATCH_ELEMENT_COUNT"}], "batch_input"),
    ],
)
def test_a_bad_dense_config_is_refused(path: tuple[Any, ...], value: Any, reason: str) -> None:
    with pytest.raises(checks.ConfigError, match=reason):
        checks.check(_changed(DENSE, *path, value=value), DENSE_INPUTS, DENSE_OUTPUTS)


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("batch_output", 0, "kind"), "OTHER", "kind"),
        (("batch_output", 0, "source_input"), ["nothing"], "unknown input"),
        (("batch_output", 0, "target_name"), ["nothing"], "unknown output"),
        (("batch_output", 0, "target_name"), ["vector", "vector"], "exactly one"),
        (("batch_output",), [], "shape"),
    ],
)
def test_a_bad_ragged_config_is_refused(path: tuple[Any, ...], value: Any, reason: str) -> None:
    with pytest.raises(checks.ConfigError, match=reason):
        checks.check(_changed(RAGGED, *path, value=value), INPUTS, OUTPUTS)


def test_a_model_that_cannot_batch_is_refused() -> None:
    with pytest.raises(checks.ConfigError, match="first dimension"):
        checks.check(DENSE, [Info("x", "tensor(float)", [1, 3])], DENSE_OUTPUTS)


def test_a_ragged_input_of_two_dimensions_is_refused() -> None:
    with pytest.raises(checks.ConfigError, match="ragged"):
        checks.check(RAGGED, [Info("ids", "tensor(int32)", [-1, -1]), INPUTS[1]], OUTPUTS)


def test_ragged_requests_are_joined_end_to_end() -> None:
    plan = checks.check(RAGGED, INPUTS, OUTPUTS)
    requests = [{"ids": np.arange(n)[None], "lengths": np.array([[n]])} for n in (2, 3)]
    assert batching.join(plan, requests)["ids"].tolist() == [0, 1, 0, 1, 2]


def test_each_request_gets_its_rows_back() -> None:
    plan = checks.check(RAGGED, INPUTS, OUTPUTS)
    requests = [{"ids": None, "lengths": np.zeros((1, texts))} for texts in (2, 1)]
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    first, second = batching.split(plan, requests, "vector", rows)
    assert first.shape == (1, 2, 4)
    assert second.tolist() == [[rows[2].tolist()]]


def test_dense_requests_are_joined_along_the_batch() -> None:
    plan = checks.check(DENSE, DENSE_INPUTS, DENSE_OUTPUTS)
    requests = [{"x": np.full((n, 3), n)} for n in (1, 2)]
    parts = batching.split(plan, requests, "y", batching.join(plan, requests)["x"][:, :2])
    assert [part.tolist() for part in parts] == [[[1, 1]], [[2, 2], [2, 2]]]


def test_a_wrong_number_of_rows_is_noticed() -> None:
    plan = checks.check(RAGGED, INPUTS, OUTPUTS)
    with pytest.raises(ValueError, match="elements"):
        batching.split(plan, [{"lengths": np.zeros((1, 2))}], "vector", np.zeros((3, 4)))


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
