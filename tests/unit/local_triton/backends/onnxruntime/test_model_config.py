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


def test_a_model_that_cannot_batch_is_refused() -> None:
    with pytest.raises(model_config.ConfigError, match="first dimension"):
        model_config.check(DENSE, [Info("x", "tensor(float)", [1, 3])], DENSE_OUTPUTS)


def test_a_ragged_input_of_two_dimensions_is_refused() -> None:
    with pytest.raises(model_config.ConfigError, match="ragged"):
        model_config.check(RAGGED, [Info("ids", "tensor(int32)", [-1, -1]), INPUTS[1]], OUTPUTS)
