import numpy as np
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from scripts.export_models.graphs.builder import Graph
from scripts.export_models.graphs.linear import product, quantise_rows


def _run(g: Graph, outputs: list[str], rows: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", None]) for name in ("x", *outputs)]
    model = g.model(tensors[:1], tensors[1:])
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found: list[NDArray[np.float32]] = session.run(outputs, {"x": rows})
    return found


def _quantised(rows: NDArray[np.float32], zero: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The whole steps and the step of each row as the graph gives them, FP32."""
    g = Graph()
    its = quantise_rows(g, "x", zero)
    g.op("Identity", its.rounded, output="numbers")
    g.op("Identity", its.reach, output="steps")
    numbers, steps = _run(g, ["numbers", "steps"], rows)
    return (numbers - its.raised) * (255 - zero), steps / (255 - zero)


REACHES = [(-1.0, 3.0), (-3.0, 1.0), (-0.001, 0.002), (0.5, 8.0), (-8.0, -0.5)]


@pytest.mark.parametrize("zero", [60, 128])
@pytest.mark.parametrize(("low", "high"), REACHES)
def test_a_row_is_rounded_by_steps_that_its_extremes_just_fill(low: float, high: float, zero: int) -> None:
    row = np.linspace(low, high, 50, dtype=np.float32)[None]
    numbers, steps = _quantised(row, zero)
    assert steps[0, 0] == pytest.approx(max(high / (255 - zero), low / -zero), rel=1e-6)
    assert np.abs(numbers * steps - row).max() <= steps[0, 0] * 0.5001


def test_the_rows_beside_it_do_not_change_a_rows_steps() -> None:
    rows = np.array([[-1, 3], [-100, 300]], np.float32)
    assert (_quantised(rows, 60)[0][0] == _quantised(rows[:1], 60)[0][0]).all()


def test_a_row_of_zeros_stays_zero() -> None:
    numbers, steps = _quantised(np.zeros((1, 4), np.float32), 60)
    assert (numbers == 0).all()
    assert np.isfinite(steps).all()


def test_a_product_is_that_of_the_rows_as_they_were_given() -> None:
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 3, (5, 64)).astype(np.float32)
    weight, scales = rng.integers(-127, 128, (64, 8)).astype(np.int8), rng.uniform(0.01, 0.02, 8).astype(np.float32)
    g = Graph()
    g.op("Identity", product(g, quantise_rows(g, "x", 60), weight, scales), output="y")
    (y,) = _run(g, ["y"], rows)
    wanted = rows @ (weight * scales)
    assert np.abs(y - wanted).max() < 0.02 * np.abs(wanted).max()
