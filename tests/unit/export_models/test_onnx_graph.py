"""Graphs that are built, how they are written, and their products in int8."""

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from scripts.export_models import onnx_graph
from scripts.export_models.onnx_graph import Graph, product, quantise_tokens, save


def _write(path: Path) -> None:
    g = Graph()
    g.op("Add", "x", g.weight(np.arange(400, dtype=np.float32), "w"), output="y")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [400]) for name in "xy")
    save(g.model([x], [y]), path)


def _answer(path: Path) -> float:
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {"x": np.ones(400, np.float32)})
    return float(y[-1])


def test_small_weights_are_in_the_file(tmp_path: Path) -> None:
    _write(tmp_path / "model.onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


def test_large_weights_are_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_graph, "_LARGEST_SINGLE_FILE", 1000)
    _write(tmp_path / "model.onnx")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    assert _answer(tmp_path / "model.onnx") == 400


def test_weights_beside_a_model_have_its_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_graph, "_LARGEST_SINGLE_FILE", 1000)
    _write(tmp_path / "model.onnx")
    assert len({file.stat().st_mode for file in tmp_path.iterdir()}) == 1


def test_the_weights_of_an_earlier_model_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_graph, "_LARGEST_SINGLE_FILE", 1000)
    _write(tmp_path / "model.onnx")
    monkeypatch.undo()
    _write(tmp_path / "model.onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


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
