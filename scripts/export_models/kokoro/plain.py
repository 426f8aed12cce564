"""Turns the published graph's integers back into plain layers with weights in floating point.

The published file quantises each activation at run time, by its extremes, before every product. OpenVINO has kernels
for constant scales only, so it computes these products slowly. Plain ones take bfloat16's kernels.

A weight that several layers share stays one: the twelve layers of ALBERT have one set. Copied for each they made the
float graph 535 MB, and shared 325 MB.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from scripts.export_models.kokoro.editing import Editing
from scripts.export_models.onnx_graph import Graph
from scripts.export_models.onnx_passes import attributes_of

KINDS = frozenset({"ConvInteger", "MatMulInteger", "DynamicQuantizeLSTM"})
_PLAIN = {"ConvInteger": "Conv", "MatMulInteger": "MatMul"}
# Inputs of DynamicQuantizeLSTM: the weights and recurrent weights with their scales and zero points.
_INPUT_WEIGHTS, _RECURRENT_WEIGHTS = (1, 8, 9), (2, 10, 11)


def plain(model: onnx.ModelProto) -> int:
    """Rewrite a model in place; returns how many integer layers it rewrote."""
    rewriting = _Plain(model.graph)
    count = sum(rewriting.rewrite(node) for node in model.graph.node if node.op_type in KINDS)
    rewriting.finish()
    return count


class _Plain(Editing):
    """Rewrites the integer layers of one graph."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        super().__init__(graph)
        self._made: set[str] = set()

    def rewrite(self, node: onnx.NodeProto) -> bool:
        return self._lstm(node) if node.op_type == "DynamicQuantizeLSTM" else self._product(node)

    def _product(self, node: onnx.NodeProto) -> bool:
        """DynamicQuantizeLinear, the product, [Add,] Cast and Mul become one layer that makes the Mul's output."""
        quantise = self.maker(node.input[0], "DynamicQuantizeLinear")
        follower, bias = self.reader(node.output[0], "Add", "Cast"), ""
        if follower is not None and follower.op_type == "Add":
            (other,) = (name for name in follower.input if name != node.output[0])
            bias = self._bias(other)
            follower = self.reader(follower.output[0], "Cast") if bias else None
        multiply = self.reader(follower.output[0], "Mul") if follower is not None else None
        if quantise is None or follower is None or multiply is None:
            return False
        (product_scale,) = (name for name in multiply.input if name != follower.output[0])
        scales = self.maker(product_scale, "Mul")
        scale = [name for name in scales.input if name in self.constants] if scales is not None else []
        if len(scale) != 1:
            return False
        weight = self._float(node.input[1], scale[0], node.input[3] if len(node.input) > 3 else "", _spread(node))
        g = Graph(prefix=f"{multiply.output[0]}_")
        inputs = [quantise.input[0], weight, *([bias] if bias else [])]
        g.op(_PLAIN[node.op_type], *inputs, output=multiply.output[0], **attributes_of(node))
        self.replace(multiply, g)
        return True

    def _bias(self, name: str) -> str:
        """The bias that is quantised with the activation's scale: Reshape(Cast(Floor(Div(bias, scale))))."""
        nodes = self.behind(name, "Reshape", "Cast", "Floor", "Div")
        return nodes[-1].input[0] if nodes and nodes[-1].input[0] in self.constants else ""

    def _lstm(self, node: onnx.NodeProto) -> bool:
        names = []
        for weight, scale, zero in (_INPUT_WEIGHTS, _RECURRENT_WEIGHTS):
            names.append(self._float(node.input[weight], node.input[scale], node.input[zero], (-1, 1, 1), (0, 2, 1)))
        g = Graph(prefix=f"{node.output[0]}_")
        lstm = onnx.helper.make_node(
            "LSTM", [node.input[0], *names, *node.input[3:8]], node.output, node.name, **attributes_of(node)
        )
        g.nodes.append(lstm)
        self.replace(node, g)
        return True

    def _float(self, weight: str, scale: str, zero: str, spread: Sequence[int], order: Sequence[int] = ()) -> str:
        """The name of the float form of an integer weight; the scales lie along the axis that ``spread`` leaves."""
        name = f"{weight}_float"
        if name not in self._made:
            self._made.add(name)
            zeros = _along(self.constants[zero].astype(np.float32), spread) if zero else np.float32(0)
            scales = _along(self.constants[scale], spread)
            real = (self.constants[weight].astype(np.float32) - zeros) * scales
            real = np.ascontiguousarray(real.transpose(order or range(real.ndim)), np.float32)
            self.graph.initializer.append(numpy_helper.from_array(real, name))
        return name


def _spread(node: onnx.NodeProto) -> Sequence[int]:
    """The shape of the scales of a layer's outputs beside its weights."""
    return (-1, 1, 1) if node.op_type == "ConvInteger" else (-1,)


def _along(values: NDArray[Any], spread: Sequence[int]) -> NDArray[Any]:
    return values.reshape(spread) if values.size > 1 else values.reshape(())
