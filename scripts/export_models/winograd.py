"""A convolution over time with fewer products, by minimal filtering (Winograd, Arithmetic Complexity of Computations).

Four neighbouring samples of a convolution with five taps take 20 products for each pair of channels; polynomials
multiplied at eight points take 8. Small integers and halves as points keep single precision's rounding: what comes out
differs from the plain convolution by about as much as that one's own rounding.

Time lies in tiles of four samples, [4, channels, tiles]: sample ``4 * tile + phase`` of a channel.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from scripts.export_models.graph import Graph

TILE = 4
SIZES = (3, 5)
# Every product is of two polynomials at these points, and at infinity.
_POINTS = [Fraction(point) for point in ("0", "1", "-1", "2", "-2", "1/2", "-1/2")]
# Its power is one in each of the four samples, so what is added there is added to all of them.
_ONE = _POINTS.index(Fraction(1))

Array = NDArray[np.float64]
_Rows = list[list[Fraction]]


def transforms(size: int) -> tuple[Array, Array, Array]:
    """``A`` [4, points], ``G`` [points, size] and ``B`` [points, points] for a kernel ``g`` of ``size`` taps.

    ``A @ ((G @ g) * (B @ d))`` is ``[d[i : i + size] @ g for i in range(4)]`` for any ``d`` of as many samples as there
    are points, ``size + 3``.
    """
    count = TILE + size - 1
    from_points = _inverse(_powers(count, count))
    samples, taps = _powers(count, TILE), _powers(count, size)
    return _as_array(samples).T, _as_array(taps), _as_array(from_points).T


def convolve(g: Graph, given: str, kernel: NDArray[np.float32], bias: NDArray[np.float32] | None) -> str:
    """The nodes of a convolution whose output has as many samples as its input.

    ``given`` is FP32 [4, in, tiles], ``kernel`` FP32 [out, in, size] and ``bias`` FP32 [out]; the answer names FP32
    [4, out, tiles]. Samples of the last tile behind the end of the sound must be zero, and are anything afterwards.
    """
    outputs, inputs, size = kernel.shape
    to_samples, of_kernel, to_points = transforms(size)
    points = len(of_kernel)
    at_points = g.op(
        "MatMul",
        g.weight(to_points.astype(np.float32), "to_points"),
        g.op("Reshape", _neighbourhoods(g, given, size), g.constant([points, -1])),
    )
    kernels = np.einsum("ps,ocs->poc", of_kernel, kernel.astype(np.float64)).reshape(points * outputs, inputs, 1)
    weights = [g.weight(kernels.astype(np.float32), "kernels")]
    if bias is not None:
        biases = np.zeros((points, outputs), np.float32)
        biases[_ONE] = bias
        weights.append(g.weight(biases.reshape(-1), "biases"))
    channels = g.op("Reshape", at_points, g.constant([1, points * inputs, -1]))
    products = g.op("Conv", channels, *weights, group=points, kernel_shape=[1])
    samples = g.op(
        "MatMul",
        g.weight(to_samples.astype(np.float32), "to_samples"),
        g.op("Reshape", products, g.constant([points, -1])),
    )
    return g.op("Reshape", samples, g.constant([TILE, outputs, -1]))


def _neighbourhoods(g: Graph, given: str, size: int) -> str:
    """What each tile's samples are made of, [size + 3, in, tiles]: its own and ``size // 2`` of each neighbour."""
    places = [divmod(place - size // 2, TILE) for place in range(TILE + size - 1)]
    parts = []
    for shift, group in groupby(places, key=lambda place: place[0]):
        phases = [phase for _, phase in group]
        # A negative number cuts off: the phases that are not needed, and the tile that moves out of the sound.
        before = [-phases[0], 0, -shift]
        after = [phases[-1] + 1 - TILE, 0, shift]
        parts.append(g.op("Pad", given, g.constant(before + after)) if any(before + after) else given)
    return g.op("Concat", *parts, axis=0)


def _powers(count: int, width: int) -> _Rows:
    """The first ``width`` powers of each of ``count`` points, the last of which is infinity."""
    infinity = [Fraction(0)] * (width - 1) + [Fraction(1)]
    return [[point**power for power in range(width)] for point in _POINTS[: count - 1]] + [infinity]


def _inverse(matrix: _Rows) -> _Rows:
    """By Gauss' and Jordan's elimination."""
    size = len(matrix)
    rows = [[*row, *(Fraction(column == index) for column in range(size))] for index, row in enumerate(matrix)]
    for column in range(size):
        pivot = next(index for index in range(column, size) if rows[index][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for index in range(size):
            if index != column:
                factor = rows[index][column]
                rows[index] = [value - factor * own for value, own in zip(rows[index], rows[column], strict=True)]
    return [row[size:] for row in rows]


def _as_array(rows: Sequence[Sequence[Fraction]]) -> Array:
    return np.array([[float(value) for value in row] for row in rows])
