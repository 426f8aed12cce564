"""An fp16 graph, compared on a processor."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import helper, numpy_helper

from scripts.export_models.onnx_graph import Graph, save
from scripts.export_models.onnx_passes import replace_nodes
from scripts.export_models.text import fp16, models
from tests.unit.export_models.text.small import first_token, texts, xlmr

TEXTS = texts((1, 2, 3, 17, 64, 257))
PACKED = "PackedMultiHeadAttention"


def _embedder(original: Any) -> onnx.ModelProto:
    """In fp16: 64 numbers, 4 heads."""
    return models.embedder(models.checkpoint_of(original), "fp16", "cls")


def _failed(model: onnx.ModelProto, original: Any, folder: Path) -> list[str]:
    save(model, folder / "model.onnx")
    wanted = np.stack([first_token(original, text) for text in TEXTS])
    checks = fp16.parity("m", folder / "model.onnx", TEXTS, wanted, 1)
    return [check.what for check in checks if not check.passed]


def _scaled(factor: float, name: str = "") -> Any:
    original = xlmr()
    with torch.no_grad():
        for each, parameter in original.named_parameters():
            if name in each:
                parameter.mul_(factor)
    return original


def _attentions(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [node for node in model.graph.node if node.op_type == PACKED]


def test_attention_is_one_packed_operator_per_layer_without_a_loop() -> None:
    kinds = [node.op_type for node in _embedder(xlmr()).graph.node]
    assert kinds.count(PACKED) == 2
    assert "Loop" not in kinds


def test_the_export_passes(tmp_path: Path) -> None:
    assert _failed(_embedder(xlmr()), xlmr(), tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def _half_of_the_heads(model: onnx.ModelProto) -> None:
    for node in _attentions(model):
        del node.attribute[:]
        node.attribute.append(helper.make_attribute("num_heads", 2))


def _one_token_later(model: onnx.ModelProto) -> None:
    g, nodes = Graph(prefix="fault_"), list(model.graph.node)
    changed = g.op("Add", _attentions(model)[0].input[5], g.weight(np.array([0, 1, 1, 1, 1, 1, 0], np.int32), "c"))
    first = nodes.index(_attentions(model)[0])
    for node in _attentions(model):
        node.input[5] = changed
    replace_nodes(model.graph, [*nodes[:first], *g.nodes, *nodes[first:]])
    model.graph.initializer.extend(g.weights)


def _another_norm(model: onnx.ModelProto) -> None:
    bias = next(each for each in model.graph.initializer if each.name.startswith("norm"))
    bias.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(bias) * np.float16(2), bias.name))


@pytest.mark.parametrize("put_in", [_half_of_the_heads, _one_token_later, _another_norm])
def test_a_wrong_graph_fails(tmp_path: Path, put_in: Callable[[onnx.ModelProto], None]) -> None:
    original = _scaled(4)
    model = _embedder(original)
    put_in(model)
    assert "fp16: 1 - cosine" in _failed(model, original, tmp_path)


@pytest.mark.parametrize("factor", [3e5, 2e5 / 3], ids=["beyond it", "near it"])
def test_activations_near_the_largest_fp16_fail_even_if_the_vectors_are_right(tmp_path: Path, factor: float) -> None:
    original = _scaled(factor, "encoder.layer.0.intermediate.dense.weight")
    assert "fp16: largest activation" in _failed(_embedder(original), original, tmp_path)
