"""Computes the scales and shifts of all adaptive norms from the style at once, by one convolution for each half of it.

A norm's scales and shifts have one number for each channel. Made by matrix products, they lie in memory like a plain
tensor, and OpenVINO brings the large tensors that they are multiplied with into that form and back, for every
convolution. Made by a convolution, they have the form of its tensors, and all stays in place.

Without this pass a sentence takes 7 % more time.
"""

from dataclasses import dataclass

import numpy as np
import onnx

from scripts.export_models.kokoro.editing import Editing
from scripts.export_models.onnx_graph import Array, Graph, Linear


@dataclass(frozen=True)
class _Norm:
    """The ``layer`` of a norm, the half of the ``style`` it reads, and the nodes that make its scales and shifts."""

    style: str
    layer: Linear
    scale: onnx.NodeProto
    split: onnx.NodeProto


def found(model: onnx.ModelProto) -> int:
    """The number of adaptive norms: splits of a tensor that is a row of numbers."""
    editing = Editing(model.graph)
    return sum(
        node.op_type == "Split" and editing.maker(node.input[0], "Unsqueeze") is not None for node in model.graph.node
    )


def by_convolution(model: onnx.ModelProto) -> int:
    """Rewrite a model in place; returns the number of norms."""
    editing = Editing(model.graph)
    norms = [norm for node in model.graph.node if (norm := _norm(editing, node)) is not None]
    for style in sorted({norm.style for norm in norms}):
        _join(editing, style, [norm for norm in norms if norm.style == style])
    editing.finish()
    return len(norms)


def _norm(editing: Editing, split: onnx.NodeProto) -> _Norm | None:
    """The norm of the chain MatMul, Add, Unsqueeze and Split, whose first half is increased by one."""
    unsqueeze = editing.maker(split.input[0], "Unsqueeze") if split.op_type == "Split" else None
    add = editing.maker(unsqueeze.input[0], "Add") if unsqueeze is not None else None
    summed = editing.parted(add) if add is not None else None
    product = editing.maker(summed[0], "MatMul") if summed is not None else None
    scale = editing.reader(split.output[0], "Add")
    if summed is None or product is None or scale is None:
        return None
    weight, one = editing.parted(product), editing.parted(scale)
    if weight is None or one is None or one[1] != 1:
        return None
    return _Norm(weight[0], Linear(weight[1], summed[1]), scale, split)


def _join(editing: Editing, style: str, norms: list[_Norm]) -> None:
    """Make all scales and shifts from one half of the style."""
    g = Graph(prefix=f"{style}_norms_")
    layer = Linear.joined([norm.layer for norm in norms])
    sizes = [norm.layer.bias.size // 2 for norm in norms for _ in range(2)]
    column = g.op("Unsqueeze", style, g.constant([2]))
    bias = np.concatenate([_increased(norm.layer.bias) for norm in norms])
    every = g.op("Conv", column, g.weight(layer.weight.T[:, :, None], "weight"), g.weight(bias, "bias"))
    names = [name for norm in norms for name in (norm.scale.output[0], norm.split.output[1])]
    g.nodes.append(onnx.helper.make_node("Split", [every, g.constant(sizes)], names, f"{style}_norms", axis=1))
    first, *others = norms
    editing.replace(first.split, g)
    for norm in others:
        editing.replace(norm.split, Graph())
    for norm in norms:
        editing.replace(norm.scale, Graph())


def _increased(bias: Array) -> Array:
    """The bias of a norm's layer with one added to that of the scales."""
    half = bias.size // 2
    return np.concatenate([bias[:half] + 1, bias[half:]])
