"""Linear layers in a graph: their weights, and their products in integers.

Each row of activations is quantised by its own extremes as it comes, each column of weights by its own beforehand.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scripts.export_models.graphs.builder import Graph

LARGEST = 127
_LEAST = 1e-7

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
    """Rows of uint8 as numbers from 0 on [rows, in]: those that were given, divided by their ``reach`` [rows, 1], and
    ``raised`` by so much.
    """

    rounded: str
    raised: float
    reach: str


def quantise_rows(g: Graph, x: str, zero: int) -> Rows:
    """Quantise each row of ``x`` by its own extremes, to uint8 around ``zero``.

    What each row is divided by comes first, since OpenVINO multiplies integers only where all rows have the same steps.
    It is the larger extreme, the lower one in the measure of the upper, and nothing else is computed of it: OpenVINO
    rounds the last few of a column to bfloat16 otherwise than the rest, and a row would depend on how many there are.
    """
    above = 255 - zero
    measured = g.op("LeakyRelu", x, alpha=-above / zero)
    largest = g.op("ReduceMax", measured, axes=[-1], keepdims=1)
    reach = g.op("Max", largest, g.constant(_LEAST, np.float32))
    step = g.constant(1 / above, np.float32)
    quantised = g.op("QuantizeLinear", g.op("Div", x, reach), step, g.constant(zero, np.uint8))
    return Rows(g.op("DequantizeLinear", quantised, step), zero / above, reach)


def product(g: Graph, rows: Rows, weight: NDArray[np.int8], scales: Array) -> str:
    """``rows @ (weight * scales)`` as FP32: ``weight`` [in, out], ``scales`` [out].

    What rows are raised by is taken away here: OpenVINO would find it out at each start, from weights in float32.
    """
    steps = g.op("DequantizeLinear", g.weight(weight.T, "int8"), g.weight(scales, "scales"), axis=0)
    lowered = -rows.raised * scales * weight.sum(axis=0)
    summed = g.op("Gemm", rows.rounded, steps, g.weight(lowered.astype(np.float32), "lowered"), transB=1)
    return g.op("Mul", summed, rows.reach)


def column_scales(weight: Array, groups: int) -> Array:
    """The step of each column within each of ``groups`` equal stretches of inputs, [groups, out]."""
    stretches = np.abs(weight).reshape(groups, -1, weight.shape[1]).max(axis=1)
    return np.maximum(stretches, 1e-12) / LARGEST
