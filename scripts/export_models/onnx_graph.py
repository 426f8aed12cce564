"""A small builder of ONNX graphs: it names values, collects weights, and writes large weights next to the file.

Behind it are linear layers and their products in int8: each token's activations are quantised at run time by their own
extremes, each column of weights by its absolute maximum when the graph is built.
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8
MICROSOFT = "com.microsoft"
# The most bytes of weights inside a model's file. protobuf ends at 2 GB, and weights next to it are mapped memory that
# instances share.
_LARGEST_SINGLE_FILE = 10_000_000
# The largest int8 weight; -128 is not used.
LARGEST = 127
# The least scale of a token: zeros must not be divided by zero.
_LEAST = 1e-7

Array = NDArray[np.float32]
Weights = dict[str, Array]


class Graph:
    """The nodes and weights of a graph under construction; a value is the name of its tensor."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._count = 0
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._constants: dict[tuple[str, bytes, tuple[int, ...]], str] = {}

    def name(self, hint: str) -> str:
        self._count += 1
        return f"{self._prefix}{hint}_{self._count}"

    def op(self, kind: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any) -> str:
        """Add a node with one output and return the output's name."""
        result = output or self.name(kind.lower())
        self.nodes.append(helper.make_node(kind, list(inputs), [result], result, domain=domain, **attributes))
        return result

    def ops(self, kind: str, inputs: list[str], count: int, **attributes: Any) -> list[str]:
        """Add a node with ``count`` outputs and return their names."""
        results = [self.name(kind.lower()) for _ in range(count)]
        self.nodes.append(helper.make_node(kind, inputs, results, results[0], **attributes))
        return results

    def weight(self, array: NDArray[Any], hint: str) -> str:
        """Add an array as an initializer and return its name."""
        result = self.name(hint)
        self.weights.append(numpy_helper.from_array(np.asarray(array, order="C"), result))
        return result

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        """Add a small constant and return its name; equal ones share an initializer."""
        array = np.asarray(value, dtype)
        key = (str(array.dtype), array.tobytes(), array.shape)
        if key not in self._constants:
            self._constants[key] = self.weight(array, "const")
        return self._constants[key]

    def cast(self, value: str, kind: int) -> str:
        return self.op("Cast", value, to=kind)

    def size(self, value: str, axis: int) -> str:
        """The size of a tensor along an axis, INT64 [1]."""
        return self.op("Slice", self.op("Shape", value), self.constant([axis]), self.constant([axis + 1]))

    def running_index(self, begins: str, total: str) -> str:
        """The index of the stretch in which each of the positions ``0 .. total-1`` lies, INT64 [total].

        ``begins`` INT64 [n] has the first position of each stretch, ascending from 0; no stretch is empty. ``total`` is
        INT64 [1].
        """
        later = self.op("Slice", begins, self.constant([1]), self.constant([np.iinfo(np.int64).max]))
        zero = helper.make_tensor("value", TensorProto.INT64, [1], [0])
        one = helper.make_tensor("value", TensorProto.INT64, [1], [1])
        blank = self.op("ConstantOfShape", total, value=zero)
        steps = self.op("ConstantOfShape", self.op("Shape", later), value=one)
        # No reduction: begins differ, and on CUDA ONNX Runtime adds INT64 as floating point (onnxruntime issue 32061).
        edges = self.op("ScatterElements", blank, later, steps, axis=0)
        return self.op("CumSum", edges, self.constant(0))

    def collect(self, hint: str, count: str, build: "Callable[[Graph, str], str]", axis: int = 0) -> str:
        """The FP32 results of ``build`` for each of ``0 .. count-1``, joined along ``axis``; ``count`` is INT64 [].

        ``build`` gets a graph of its own, which may read values of this one, and the name of its number.
        """
        body = Graph(prefix=f"{self.name(hint)}_")
        names = [body.name(name) for name in ("number", "more", "still_more", "so_far", "collected")]
        number, more, still_more, so_far, collected = names
        body.op("SequenceInsert", so_far, build(body, number), output=collected)
        body.op("Identity", more, output=still_more)
        sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
        loop = helper.make_graph(
            body.nodes,
            f"each_{hint}",
            [
                helper.make_tensor_value_info(number, TensorProto.INT64, []),
                helper.make_tensor_value_info(more, TensorProto.BOOL, []),
                helper.make_value_info(so_far, sequence),
            ],
            [
                helper.make_tensor_value_info(still_more, TensorProto.BOOL, []),
                helper.make_value_info(collected, sequence),
            ],
        )
        # The loop reads its weights from the outer graph, which can write large ones next to the file.
        self.weights += body.weights
        empty = self.op("SequenceEmpty", dtype=TensorProto.FLOAT)
        every = self.op("Loop", count, self.constant(True, np.bool_), empty, body=loop)
        return self.op("ConcatFromSequence", every, axis=axis)

    def model(self, inputs: list[onnx.ValueInfoProto], outputs: list[onnx.ValueInfoProto]) -> onnx.ModelProto:
        """The finished model; it takes the weights out of this graph."""
        graph = helper.make_graph(self.nodes, "quartet", inputs, outputs)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="quartet")
        # Each weight is copied, and freed at once: all of M3's together would be in memory three times.
        self.weights.reverse()
        while self.weights:
            model.graph.initializer.append(self.weights.pop())
        return model


def save(model: onnx.ModelProto, path: Path) -> None:
    """Write a model to ``path``; if its weights have more than 10 MB, they go into ``<path>.data``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = path.with_name(path.name + ".data")
    path.unlink(missing_ok=True)
    data.unlink(missing_ok=True)
    large = sum(len(weight.raw_data) for weight in model.graph.initializer) > _LARGEST_SINGLE_FILE
    onnx.save(model, str(path), save_as_external_data=large, location=data.name if large else None)
    if large:
        # onnx makes the file private, but Triton may run as another user.
        shutil.copymode(path, data)


@dataclass(frozen=True)
class Linear:
    """``x @ weight + bias``: ``weight`` [in, out], ``bias`` [out]."""

    weight: Array
    bias: Array

    @classmethod
    def joined(cls, layers: Sequence["Linear"]) -> "Linear":
        """Layers with the same input, side by side as one."""
        weight = np.concatenate([layer.weight for layer in layers], axis=1)
        return cls(weight, np.concatenate([layer.bias for layer in layers]))

    def columns(self, which: NDArray[np.int64] | slice) -> "Linear":
        """The layer with only these outputs, or with its outputs in this order."""
        return Linear(self.weight[:, which], self.bias[which])


@dataclass(frozen=True)
class Quantised:
    """Quantised tokens: ``values`` FP32 [tokens, in] are ``x / abs_max + offset``, rounded to 255 steps.

    ``abs_max`` FP32 [tokens, 1] is the larger extreme of each token, measured from the zero point.
    """

    values: str
    offset: float
    abs_max: str


def quantise_tokens(g: Graph, x: str, zero_point: int) -> Quantised:
    """Quantise each token (row) of ``x`` FP32 [tokens, in] by its own extremes, to uint8 around ``zero_point``.

    Tokens are divided first, because OpenVINO multiplies integers only if all have the same scale. Only the maximum is
    taken (negative numbers are stretched by LeakyRelu): OpenVINO rounds the last few results of other operations on a
    column to bfloat16 differently, so a token would depend on the number of tokens.
    """
    above = 255 - zero_point
    measured = g.op("LeakyRelu", x, alpha=-above / zero_point)
    largest = g.op("ReduceMax", measured, axes=[-1], keepdims=1)
    abs_max = g.op("Max", largest, g.constant(_LEAST, np.float32))
    scale = g.constant(1 / above, np.float32)
    quantised = g.op("QuantizeLinear", g.op("Div", x, abs_max), scale, g.constant(zero_point, np.uint8))
    return Quantised(g.op("DequantizeLinear", quantised, scale), zero_point / above, abs_max)


def product(g: Graph, tokens: Quantised, weight: NDArray[np.int8], scales: Array) -> str:
    """``tokens @ (weight * scales)``, FP32 [tokens, out]: ``weight`` [in, out], ``scales`` [out].

    The bias takes the tokens' offset away. OpenVINO would compute that bias at each start, from weights in float32.
    """
    dequantised = g.op("DequantizeLinear", g.weight(weight.T, "int8"), g.weight(scales, "scales"), axis=0)
    bias = -tokens.offset * scales * weight.sum(axis=0)
    summed = g.op("Gemm", tokens.values, dequantised, g.weight(bias.astype(np.float32), "offset"), transB=1)
    return g.op("Mul", summed, tokens.abs_max)


def column_scales(weight: Array, groups: int) -> Array:
    """The scales of the columns of ``weight`` [in, out] in each of ``groups`` equal groups of inputs, [groups, out]."""
    largest = np.abs(weight).reshape(groups, -1, weight.shape[1]).max(axis=1)
    return np.maximum(largest, 1e-12) / LARGEST
