"""An fp16 graph is refused on a processor for what would be wrong on CUDA."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, numpy_helper

from scripts.export_models.graphs.builder import Graph, save
from scripts.export_models.graphs.parity import Check
from scripts.export_models.graphs.progress import Progress
from scripts.export_models.graphs.rewriting import replace_nodes
from scripts.export_models.text import fp16
from tests.unit.export_models.graphs.cuda import embedder, given_instead, with_heads
from tests.unit.export_models.text.small import first_token, texts, xlmr

TEXTS = texts((1, 2, 3, 17, 64, 257))
OFFSETS, RUNNING = 4, 5


class _Notes(Progress):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        self.lines.append(line)


def _read(
    model: onnx.ModelProto, folder: Path, apart: fp16.Apart = lambda text: [len(text)]
) -> tuple[list[str], list[str]]:
    """What of a graph's file fails, and what is told."""
    notes = _Notes()
    save(model, folder / "model.onnx")
    return _failed(fp16.read("m", folder / "model.onnx", TEXTS, apart, notes)), notes.lines


def _parity(model: onnx.ModelProto, original: Any, folder: Path) -> list[str]:
    save(model, folder / "model.onnx")
    wanted = np.stack([first_token(original, text) for text in TEXTS])
    return _failed(fp16.parity("m", folder / "model.onnx", TEXTS, wanted, 1))


def _failed(checks: list[Check]) -> list[str]:
    return [check.what for check in checks if not check.passed]


def test_the_export_passes(tmp_path: Path) -> None:
    assert _read(embedder(), tmp_path) == ([], [])
    assert _parity(embedder(), xlmr(), tmp_path) == []


def test_a_demand_that_is_not_met_fails_and_is_told_once(tmp_path: Path) -> None:
    failed, told = _read(given_instead(embedder(), OFFSETS, "Cast", to=TensorProto.INT64), tmp_path)
    assert failed == ["fp16: demands of packed attention not met"]
    assert told == ["fp16: token offsets must be INT32 of rank 2"]


def test_an_operator_without_a_kernel_fails_and_is_told(tmp_path: Path) -> None:
    model = embedder()
    for node in model.graph.node:
        if node.op_type == "Gelu":
            node.op_type = "QuickGelu"
    failed, told = _read(model, tmp_path)
    assert failed == ["fp16: operators without a CUDA kernel"]
    assert told == ["fp16: QuickGelu of FLOAT16 has no CUDA kernel"]


@pytest.mark.parametrize("place", [OFFSETS, RUNNING])
def test_layouts_that_are_one_off_fail(tmp_path: Path, place: int) -> None:
    assert _read(given_instead(embedder(), place, "Add", np.int32(1)), tmp_path)[0] == [
        "fp16: batches with wrong token offsets"
    ]


def test_texts_that_attention_should_see_apart_and_sees_as_one_fail(tmp_path: Path) -> None:
    assert _read(embedder(), tmp_path, lambda text: [1] * len(text))[0] == ["fp16: batches with wrong token offsets"]


def test_weights_that_are_left_in_fp32_fail(tmp_path: Path) -> None:
    model, g = embedder(), Graph(prefix="fault_")
    weight = next(each for each in model.graph.initializer if each.name.startswith("positions"))
    name = weight.name
    whole = numpy_helper.from_array(numpy_helper.to_array(weight).astype(np.float32), "whole")
    model.graph.initializer.remove(weight)
    model.graph.initializer.append(whole)
    g.op("Cast", "whole", output=name, to=TensorProto.FLOAT16)
    replace_nodes(model.graph, [*g.nodes, *model.graph.node])
    assert _read(model, tmp_path)[0] == ["fp16: share of weights in fp32"]


def _smaller_scale(model: onnx.ModelProto) -> onnx.ModelProto:
    for node in model.graph.node:
        if node.op_type == "PackedMultiHeadAttention":
            node.attribute.append(onnx.helper.make_attribute("scale", 1.0))
    return model


def _without_a_bias(model: onnx.ModelProto) -> onnx.ModelProto:
    bias = next(each for each in model.graph.initializer if each.name.startswith("norm"))
    bias.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(bias) * np.float16(2), bias.name))
    return model


@pytest.mark.parametrize(
    "put_in",
    [
        lambda model: with_heads(model, 2),
        _smaller_scale,
        _without_a_bias,
    ],
    ids=["half of the heads", "another scale", "another norm"],
)
def test_other_numbers_than_the_originals_fail(
    tmp_path: Path, put_in: Callable[[onnx.ModelProto], onnx.ModelProto]
) -> None:
    original = xlmr()
    with torch.no_grad():
        for parameter in original.parameters():
            parameter.mul_(4)
    assert "fp16: 1 - cosine" in _parity(put_in(embedder(original)), original, tmp_path)


def test_activations_beyond_fp16_fail(tmp_path: Path) -> None:
    original = xlmr()
    with torch.no_grad():
        original.encoder.layer[0].intermediate.dense.weight.mul_(3e5)
    failed = _parity(embedder(original), original, tmp_path)
    assert "fp16: largest activation" in failed


def test_activations_near_fp16s_end_fail_though_the_vectors_are_right(tmp_path: Path) -> None:
    original = xlmr()
    with torch.no_grad():
        original.encoder.layer[0].intermediate.dense.weight.mul_(2e5 / 3)
    assert _parity(embedder(original), original, tmp_path) == ["fp16: largest activation"]
