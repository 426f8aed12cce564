"""What fp16 computes, emulated."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper

from scripts.export_models.graphs import builder
from scripts.export_models.graphs.builder import MICROSOFT, Graph, save
from scripts.export_models.graphs.half import Emulation

HALF = np.float16
RNG = np.random.default_rng(3)


def _emulation(g: Graph, answer: str, folder: Path, inputs: tuple[str, ...] = ("x",)) -> Emulation:
    kinds = {"running": TensorProto.INT32}
    given = [helper.make_tensor_value_info(name, kinds.get(name, TensorProto.FLOAT), None) for name in inputs]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    g.op("Cast", answer, output="y", to=TensorProto.FLOAT)
    save(g.model(given, [output]), folder / "model.onnx")
    return Emulation(folder / "model.onnx", 1)


def _sum(folder: Path, addend: float) -> Emulation:
    g = Graph()
    return _emulation(g, g.op("Add", g.cast("x", TensorProto.FLOAT16), g.weight(np.array([addend], HALF), "w")), folder)


def test_what_an_operator_gives_is_rounded_to_fp16(tmp_path: Path) -> None:
    emulation = _sum(tmp_path, 1)
    assert emulation.infer({"x": np.array([2048, 3, 1e-4], np.float32)}).tolist() == [2048, 4, float(HALF(1 + 1e-4))]


def test_a_chain_of_operators_is_rounded_after_each(tmp_path: Path) -> None:
    rows, weight, bias = (RNG.normal(size=size).astype(HALF) for size in ((5, 64), (64, 7), (7,)))
    g = Graph()
    product = g.op("MatMul", g.cast("x", TensorProto.FLOAT16), g.weight(weight, "w"))
    emulation = _emulation(g, g.op("Add", product, g.weight(bias, "b")), tmp_path)
    sums = (rows.astype(np.float64) @ weight.astype(np.float64)).astype(HALF)
    wanted = (sums.astype(np.float32) + bias.astype(np.float32)).astype(HALF)
    assert np.array_equal(emulation.infer({"x": rows.astype(np.float32)}), wanted.astype(np.float32))


def test_past_65504_there_is_infinity_and_the_largest_says_so(tmp_path: Path) -> None:
    emulation = _sum(tmp_path, 60_000)
    assert emulation.infer({"x": np.array([5_000], np.float32)}).tolist() == [64_992]
    assert emulation.largest == 65_000
    assert emulation.infer({"x": np.array([6_000], np.float32)}).tolist() == [np.inf]
    assert emulation.largest == 66_000


def test_the_largest_remembers_and_counts_negative_numbers(tmp_path: Path) -> None:
    emulation = _sum(tmp_path, 0)
    for numbers in ([-50.0, 2.0], [1.0]):
        emulation.infer({"x": np.array(numbers, np.float32)})
    assert emulation.largest == 50


def test_what_was_infinite_on_the_way_is_not_forgotten(tmp_path: Path) -> None:
    g = Graph()
    far = g.op("Mul", g.cast("x", TensorProto.FLOAT16), g.weight(np.array([1e4], HALF), "w"))
    emulation = _emulation(g, g.op("Tanh", g.op("Mul", far, far)), tmp_path)
    assert emulation.infer({"x": np.array([1.0], np.float32)}).tolist() == [1]
    assert emulation.largest > 65_504


def _attended(text: NDArray[np.float16], heads: int) -> NDArray[np.float32]:
    """Attention of a text to itself, by PyTorch in fp32."""
    q = torch.from_numpy(text.astype(np.float32)).reshape(len(text), heads, -1).transpose(0, 1)
    answer = torch.nn.functional.scaled_dot_product_attention(q, q, q)
    rows: NDArray[np.float32] = answer.transpose(0, 1).reshape(len(text), -1).numpy()
    return rows


@pytest.mark.parametrize("lengths", [(4,), (1, 5, 2)])
def test_packed_attention_sees_each_text_alone(tmp_path: Path, lengths: tuple[int, ...]) -> None:
    texts = [RNG.normal(size=(length, 16)).astype(HALF) for length in lengths]
    g = Graph()
    x = g.cast("x", TensorProto.FLOAT16)
    attended = g.op("PackedMultiHeadAttention", x, x, x, "", "running", "running", domain=MICROSOFT, num_heads=2)
    emulation = _emulation(g, attended, tmp_path, ("x", "running"))
    running = np.cumsum([0, *lengths]).astype(np.int32)
    got = emulation.infer({"x": np.concatenate(texts).astype(np.float32), "running": running})
    wanted = np.concatenate([_attended(text, 2) for text in texts])
    assert np.abs(got - wanted).max() < 1e-3
    assert np.array_equal(got, got.astype(HALF).astype(np.float32))


def test_nothing_is_left_beside_the_model_and_it_is_not_changed(tmp_path: Path) -> None:
    _sum(tmp_path, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    assert [node.op_type for node in onnx.load(str(tmp_path / "model.onnx")).graph.node] == ["Cast", "Add", "Cast"]


def test_weights_beside_the_file_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "_LARGEST_SINGLE_FILE", 1000)
    weight = np.zeros((3, 2000), HALF)
    weight[0, 0] = 3
    g = Graph()
    emulation = _emulation(g, g.op("MatMul", g.cast("x", TensorProto.FLOAT16), g.weight(weight, "w")), tmp_path)
    assert (tmp_path / "model.onnx.data").is_file()
    assert emulation.infer({"x": np.array([[2.0, 0, 0]], np.float32)})[0, 0] == 6
