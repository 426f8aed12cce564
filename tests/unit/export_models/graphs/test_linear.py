import numpy as np
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from scripts.export_models.graphs.builder import Graph
from scripts.export_models.graphs.linear import product, quantise_tokens


def _run(g: Graph, outputs: list[str], rows: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", None]) for name in ("x", *outputs)]
    model = g.model(tensors[:1], tensors[1:])
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found: list[NDArray[np.float32]] = session.run(outputs, {"x": rows})
    return found


def _quantised(rows: NDArray[np.float32], zero_point: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The whole numbers and the scale of each token as the graph gives them, FP32."""
    g = Graph()
    tokens = quantise_tokens(g, "x", zero_point)
    g.op("Identity", tokens.values, output="numbers")
    g.op("Identity", tokens.abs_max, output="scales")
    numbers, scales = _run(g, ["numbers", "scales"], rows)
    return (numbers - tokens.offset) * (255 - zero_point), scales / (255 - zero_point)


RANGES = [(-1.0, 3.0), (-3.0, 1.0), (-0.001, 0.002), (0.5, 8.0), (-8.0, -0.5)]


@pytest.mark.parametrize("zero_point", [60, 128])
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_a_tokens_scale_just_covers_its_extremes(low: float, high: float, zero_point: int) -> None:
    row = np.linspace(low, high, 50, dtype=np.float32)[None]
    numbers, scales = _quantised(row, zero_point)
    assert scales[0, 0] == pytest.approx(max(high / (255 - zero_point), low / -zero_point), rel=1e-6)
    assert np.abs(numbers * scales - row).max() <= scales[0, 0] * 0.5001


def test_other_tokens_do_not_change_a_tokens_scale() -> None:
    rows = np.array([[-1, 3], [-100, 300]], np.float32)
    assert (_quantised(rows, 60)[0][0] == _quantised(rows[:1], 60)[0][0]).all()


def test_a_token_of_zeros_stays_zero() -> None:
    numbers, scales = _quantised(np.zeros((1, 4), np.float32), 60)
    assert (numbers == 0).all()
    assert np.isfinite(scales).all()


def test_a_product_is_close_to_that_of_the_unquantised_tokens() -> None:
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 3, (5, 64)).astype(np.float32)
    weight, scales = rng.integers(-127, 128, (64, 8)).astype(np.int8), rng.uniform(0.01, 0.02, 8).astype(np.float32)
    g = Graph()
    g.op("Identity", product(g, quantise_tokens(g, "x", 60), weight, scales), output="y")
    (y,) = _run(g, ["y"], rows)
    wanted = rows @ (weight * scales)
    assert np.abs(y - wanted).max() < 0.02 * np.abs(wanted).max()
