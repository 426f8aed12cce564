"""Linear layers in a graph: their weights, and their products in integers.

Each token's activations are quantised by their own extremes as they come, each column of weights by its own beforehand.
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
class Quantised:
    """Tokens in uint8 as numbers from 0 on, ``values`` [tokens, in]: what was given, divided by the ``abs_max`` of each
    token [tokens, 1], plus ``offset``.
    """

    values: str
    offset: float
    abs_max: str


def quantise_tokens(g: Graph, x: str, zero_point: int) -> Quantised:
    """Quantise each token (row) of ``x`` by its own extremes, to uint8 around ``zero_point``.

    What each token is divided by comes first, since OpenVINO multiplies integers only where all have the same scale.
    It is the larger extreme, the lower one in the measure of the upper, and nothing else is computed of it: OpenVINO
    rounds the last few of a column to bfloat16 otherwise than the rest, and a token would depend on how many there are.
    """
    above = 255 - zero_point
    measured = g.op("LeakyRelu", x, alpha=-above / zero_point)
    largest = g.op("ReduceMax", measured, axes=[-1], keepdims=1)
    abs_max = g.op("Max", largest, g.constant(_LEAST, np.float32))
    scale = g.constant(1 / above, np.float32)
    quantised = g.op("QuantizeLinear", g.op("Div", x, abs_max), scale, g.constant(zero_point, np.uint8))
    return Quantised(g.op("DequantizeLinear", quantised, scale), zero_point / above, abs_max)


def product(g: Graph, tokens: Quantised, weight: NDArray[np.int8], scales: Array) -> str:
    """``tokens @ (weight * scales)`` as FP32: ``weight`` [in, out], ``scales`` [out].

    The tokens' offset is taken away here: OpenVINO would find it out at each start, from weights in float32.
    """
    dequantised = g.op("DequantizeLinear", g.weight(weight.T, "int8"), g.weight(scales, "scales"), axis=0)
    bias = -tokens.offset * scales * weight.sum(axis=0)
    summed = g.op("Gemm", tokens.values, dequantised, g.weight(bias.astype(np.float32), "offset"), transB=1)
    return g.op("Mul", summed, tokens.abs_max)


def column_scales(weight: Array, groups: int) -> Array:
    """The scale of each column within each of ``groups`` equal groups of inputs, [groups, out]."""
    largest = np.abs(weight).reshape(groups, -1, weight.shape[1]).max(axis=1)
    return np.maximum(largest, 1e-12) / LARGEST
