import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from scripts.export_models.graphs.builder import Graph
from scripts.export_models.graphs.linear import if_exact, quantise_rows
from tests.processors import exact_int8


def _guarded() -> onnx.ModelProto:
    g = Graph()
    g.op("Identity", if_exact(g, "x"), output="y")
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    return g.model(tensors[:1], tensors[1:])


def _run(model: onnx.ModelProto) -> NDArray[np.float32]:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    answer: NDArray[np.float32] = session.run(None, {"x": np.array([1, -2], np.float32)})[0]
    return answer


@exact_int8
def test_where_sums_are_exact_numbers_pass() -> None:
    assert _run(_guarded()).tolist() == [1, -2]


def test_where_sums_saturate_there_are_no_numbers() -> None:
    model = _guarded()
    rows = next(tensor for tensor in model.graph.initializer if tensor.data_type == TensorProto.UINT8)
    # A sum that is too small, as one that saturated is.
    fewer = numpy_helper.to_array(rows) - np.uint8(1)
    rows.CopyFrom(numpy_helper.from_array(fewer, rows.name))
    assert np.isnan(_run(model)).all()


def _quantised(rows: NDArray[np.float32], zero: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The numbers and the step of each row as the graph gives them."""
    g = Graph()
    its = quantise_rows(g, "x", zero)
    g.op("Identity", its.quantised, output="numbers")
    g.op("Identity", its.step, output="steps")
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", "width"])]
    kinds = (("numbers", TensorProto.UINT8), ("steps", TensorProto.FLOAT))
    outputs = [helper.make_tensor_value_info(name, kind, ["rows", None]) for name, kind in kinds]
    session = ort.InferenceSession(g.model(inputs, outputs).SerializeToString(), providers=["CPUExecutionProvider"])
    numbers, steps = session.run(["numbers", "steps"], {"x": rows})
    return numbers.astype(np.int64), steps


REACHES = [(-1.0, 3.0), (-3.0, 1.0), (-0.001, 0.002), (0.5, 8.0), (-8.0, -0.5)]


@pytest.mark.parametrize("zero", [60, 128])
@pytest.mark.parametrize(("low", "high"), REACHES)
def test_a_row_is_rounded_by_steps_that_its_extremes_just_fill(low: float, high: float, zero: int) -> None:
    row = np.linspace(low, high, 50, dtype=np.float32)[None]
    numbers, steps = _quantised(row, zero)
    assert steps[0, 0] == pytest.approx(max(high / (255 - zero), low / -zero), rel=1e-6)
    assert np.abs((numbers - zero) * steps - row).max() <= steps[0, 0] * 0.5001


def test_the_rows_beside_it_do_not_change_a_rows_steps() -> None:
    rows = np.array([[-1, 3], [-100, 300]], np.float32)
    assert (_quantised(rows, 60)[0][0] == _quantised(rows[:1], 60)[0][0]).all()


def test_a_row_of_zeros_stays_zero() -> None:
    numbers, steps = _quantised(np.zeros((1, 4), np.float32), 60)
    assert (numbers == 60).all()
    assert np.isfinite(steps).all()
