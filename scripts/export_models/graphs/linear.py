"""Linear layers in a graph: their weights, and their products in int8.

Each token's activations are quantised at run time by their own extremes, each column of weights by its absolute maximum
when the graph is built.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scripts.export_models.graphs.builder import Graph

# The largest int8 weight; -128 is not used.
LARGEST = 127
# The least scale of a token: zeros must not be divided by zero.
_LEAST = 1e-7

Array = NDArray[np.float32]
Weights = dict[str, Array]


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
