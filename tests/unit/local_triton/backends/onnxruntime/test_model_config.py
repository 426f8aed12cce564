"""The stand-in refuses what Triton's C++ backend refuses."""

import copy
from typing import Any

import pytest

from tests.unit.local_triton.backends.onnxruntime.stand_in import (
    DENSE,
    DENSE_INPUTS,
    DENSE_OUTPUTS,
    INPUTS,
    OUTPUTS,
    RAGGED,
    Info,
    model_config,
)


def _changed(config: dict[str, Any], *path: Any, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(config)
    place: Any = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


def _unbatched(rows: str) -> dict[str, Any]:
    whole = _changed(_changed(DENSE, "max_batch_size", value=0), "output", 0, "dims", value=["-1", "2"])
    return _changed(whole, "input", 0, "dims", value=[rows, "3"])


# A free dimension of the model may be fixed by the configuration of an input.
@pytest.mark.parametrize(
    "config", [DENSE, _changed(DENSE, "max_batch_size", value=1), _unbatched("-1"), _unbatched("5")]
)
def test_a_good_dense_config_loads(config: dict[str, Any]) -> None:
    model_config.check(config, DENSE_INPUTS, DENSE_OUTPUTS)


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
    with pytest.raises(model_config.ConfigError, match=reason):
        model_config.check(_changed(DENSE, *path, value=value), DENSE_INPUTS, DENSE_OUTPUTS)


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
    with pytest.raises(model_config.ConfigError, match=reason):
        model_config.check(_changed(RAGGED, *path, value=value), INPUTS, OUTPUTS)


@pytest.mark.parametrize(
    ("config", "inputs", "outputs", "reason"),
    [
        (DENSE, [Info("x", "tensor(float)", [1, 3])], DENSE_OUTPUTS, "first dimension"),
        (RAGGED, [Info("ids", "tensor(int32)", [-1, -1]), INPUTS[1]], OUTPUTS, "ragged"),
        (DENSE, DENSE_INPUTS, [Info("y", "tensor(float)", [-1, -1])], "shape"),
    ],
    ids=["a model that cannot batch", "a ragged input of two dimensions", "a fixed size of an output that is free"],
)
def test_a_model_that_does_not_fit_is_refused(config: Any, inputs: Any, outputs: Any, reason: str) -> None:
    with pytest.raises(model_config.ConfigError, match=reason):
        model_config.check(config, inputs, outputs)
