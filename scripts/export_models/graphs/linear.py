"""Linear layers in a graph: their weights, and their products in integers.

Each row of activations is quantised by its own extremes as it comes, each column of weights by its own beforehand.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from scripts.export_models.graphs.builder import MICROSOFT, Graph

LARGEST = 127
# Products in each sum that shows whether sums are exact.
_PROBE = 64

Array = NDArray[np.float32]
Weights = dict[str, Array]


@dataclass(frozen=True)
class Linear:
    """``x @ weight + bias``: ``weight`` [in, out], ``bias`` [out]."""

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]

    @classmethod
    def joined(cls, layers: Sequence["Linear"]) -> "Linear":
        """Layers of the same input side by side, as one."""
        weight = np.concatenate([layer.weight for layer in layers], axis=1)
        return cls(weight, np.concatenate([layer.bias for layer in layers]))

    def columns(self, which: NDArray[np.int64] | slice) -> "Linear":
        """The layer with only these outputs, or with its outputs in this order."""
        return Linear(self.weight[:, which], self.bias[which])


@dataclass(frozen=True)
class Rows:
    """Rows in uint8 [rows, in] around ``zero``, and the ``step`` of each [rows, 1]."""

    quantised: str
    step: str
    zero: str


def quantise_rows(g: Graph, x: str, zero: int) -> Rows:
    """Quantise each row of ``x`` by its own extremes, in few passes: beside the product they are half of the time."""
    highest = g.op("Div", g.op("ReduceMax", x, axes=[-1], keepdims=0), g.constant(255 - zero, np.float32))
    lowest = g.op("Div", g.op("ReduceMin", x, axes=[-1], keepdims=0), g.constant(-zero, np.float32))
    step = g.op("Max", highest, lowest, g.constant(1e-12, np.float32))
    middle = g.op("Expand", g.constant(zero, np.uint8), g.op("Shape", step))
    quantised = g.op("QuantizeLinear", x, step, middle, axis=0)
    return Rows(quantised, g.op("Unsqueeze", step, g.constant([1])), g.constant(zero, np.uint8))


def product(g: Graph, rows: Rows, weight: NDArray[np.int8], scales: Array) -> str:
    """``rows @ (weight * scales)`` as FP32: ``weight`` [in, out], ``scales`` [out].

    uint8 by int8 is the pair that has fast kernels; int8 by int8 falls to one that is 18 times slower.
    """
    one = g.constant(1, np.float32)
    inputs = (rows.quantised, g.weight(weight, "int8"), one, g.weight(scales, "scales"), rows.zero)
    return g.op("Mul", g.op("MatMulIntegerToFloat", *inputs, domain=MICROSOFT), rows.step)


def if_exact(g: Graph, x: str) -> str:
    """``x``, or NaN on a processor that would give wrong numbers without a word.

    Kernels for x86-64 without VNNI add two products in 16 bits, which saturate: those of the largest numbers tell.
    """
    rows = g.constant(np.full((8, _PROBE), 255), np.uint8)
    columns = g.constant(np.full((_PROBE, 16), 127), np.int8)
    least = g.op("ReduceMin", g.cast(g.op("MatMulInteger", rows, columns), TensorProto.FLOAT), keepdims=0)
    exact = g.op("Equal", least, g.constant(_PROBE * 255 * 127, np.float32))
    return g.op("Mul", x, g.op("Where", exact, g.constant(1, np.float32), g.constant(np.nan, np.float32)))


def column_scales(weight: Array, groups: int) -> Array:
    """The step of each column within each of ``groups`` equal stretches of inputs, [groups, out]."""
    stretches = np.abs(weight).reshape(groups, -1, weight.shape[1]).max(axis=1)
    return np.maximum(stretches, 1e-12) / LARGEST
