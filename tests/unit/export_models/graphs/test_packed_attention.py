"""What packed attention demands, and how texts are laid out for it."""

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto

from scripts.export_models.graphs.packed_attention import laid_out, layouts, misplaced, unmet
from scripts.export_models.graphs.values import Value, values_of
from scripts.export_models.text import models
from scripts.export_models.text.cuda import CudaEncoder
from tests.unit.export_models.graphs.cuda import attentions, embedder, given_instead, with_heads
from tests.unit.export_models.text.small import xlmr

BIAS, OFFSETS, RUNNING, ATTENTION_BIAS = 3, 4, 5, 6


def _ids(lengths: tuple[int, ...]) -> list[NDArray[np.int32]]:
    return [np.arange(length, dtype=np.int32) for length in lengths]


def _misplaced(model: onnx.ModelProto, lengths: tuple[int, ...]) -> bool:
    (layout,) = layouts(model, values_of(model))
    return misplaced(layout, _ids(lengths), lengths)


def _unmet(model: onnx.ModelProto) -> list[str]:
    return sorted(set(unmet(model, values_of(model))))


def test_token_offsets_are_those_of_the_operators_documentation() -> None:
    offsets, running = laid_out([1, 2, 4])
    assert offsets.reshape(-1).tolist() == [0, 4, 5, 8, 9, 10, 11, 1, 2, 3, 6, 7]
    assert running.tolist() == [0, 1, 3, 7]


@pytest.mark.parametrize(
    "lengths", [(1,), (8192,), (3, 3, 3), (1, 2, 4), (9, 1, 8192, 2), tuple(range(1, 33)), (500,) * 32]
)
def test_texts_are_laid_out_as_documented(lengths: tuple[int, ...]) -> None:
    assert not _misplaced(embedder(), lengths)


def test_our_graph_meets_every_demand() -> None:
    assert _unmet(embedder()) == []


def test_a_graph_without_packed_attention_is_told() -> None:
    assert _unmet(models.embedder(models.checkpoint_of(xlmr()), "fp32", "cls")) == [
        "there is no PackedMultiHeadAttention"
    ]


FAULTS: dict[str, tuple[Callable[[onnx.ModelProto], onnx.ModelProto], str]] = {
    "heads that do not divide the width": (lambda m: with_heads(m, 3), "a width of 64 does not divide among 3 heads"),
    "no heads": (lambda m: with_heads(m, 0), "a width of 64 does not divide among 0 heads"),
    "heads of 4": (lambda m: with_heads(m, 16), "flash attention has no heads of 4 numbers"),
    "offsets in int64": (
        lambda m: given_instead(m, OFFSETS, "Cast", to=TensorProto.INT64),
        "token offsets must be INT32 of rank 2",
    ),
    "offsets in a row": (
        lambda m: given_instead(m, OFFSETS, "Reshape", np.array([-1])),
        "token offsets must be INT32 of rank 2",
    ),
    "running lengths in int64": (
        lambda m: given_instead(m, RUNNING, "Cast", to=TensorProto.INT64),
        "running lengths must be INT32 of rank 1",
    ),
    "running lengths in a column": (
        lambda m: given_instead(m, RUNNING, "Reshape", np.array([-1, 1])),
        "running lengths must be INT32 of rank 1",
    ),
    "narrower keys": (
        lambda m: given_instead(m, 1, "Slice", np.array([0]), np.array([32]), np.array([1])),
        "queries, keys and values must be [tokens, width], all of one type",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_demand_that_is_not_met_is_told(fault: str) -> None:
    put_in, reason = FAULTS[fault]
    assert _unmet(put_in(embedder())) == [reason]


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        (BIAS, "a bias of queries, keys and values is not emulated"),
        (ATTENTION_BIAS, "an attention bias switches flash attention off"),
    ],
)
def test_a_bias_is_told(place: int, reason: str) -> None:
    model = embedder()
    for node in attentions(model):
        node.input.extend([""] * (1 + place - len(node.input)))
        node.input[place] = model.graph.initializer[0].name
    assert _unmet(model) == [reason]


@pytest.mark.parametrize(
    ("width", "reasons"), [(256, []), (264, ["flash attention has no heads of 264 numbers"])], ids=["256", "264"]
)
def test_heads_have_256_numbers_at_the_most(width: int, reasons: list[str]) -> None:
    model = with_heads(embedder(), 1)
    wide = {name: Value(TensorProto.FLOAT16, (None, width)) for node in attentions(model) for name in node.input[:3]}
    assert sorted(set(unmet(model, {**values_of(model), **wide}))) == reasons


def test_attention_in_fp32_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CudaEncoder, "_float", np.float32)
    assert _unmet(embedder()) == ["flash attention takes fp16 alone"]


@pytest.mark.parametrize("place", [OFFSETS, RUNNING])
def test_texts_that_are_laid_out_one_off_are_noticed(place: int) -> None:
    assert _misplaced(given_instead(embedder(), place, "Add", np.int32(1)), (1, 2, 4))


def test_the_lengths_that_attention_sees_are_what_counts() -> None:
    model = embedder()
    (layout,) = layouts(model, values_of(model))
    assert misplaced(layout, _ids((2, 4)), [1, 1, 4])


def test_layers_that_are_given_other_offsets_are_each_looked_at() -> None:
    model = given_instead(embedder(), OFFSETS, "Add", np.int32(1))
    attentions(model)[1].input[OFFSETS] = next(
        n for n in model.graph.node if n.op_type == "Add" and "fault" in n.name
    ).input[0]
    found = [misplaced(layout, _ids((1, 2)), (1, 2)) for layout in layouts(model, values_of(model))]
    assert found == [True, False]
