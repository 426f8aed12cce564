"""A convolution over time with fewer products, by minimal filtering (Winograd, Arithmetic Complexity of Computations).

Four neighbouring samples of a convolution with five taps take 20 products for each pair of channels; polynomials
multiplied at eight points take 8. Small integers and halves as points keep single precision's rounding: what comes out
differs from the plain convolution by about as much as that one's own rounding.

Time lies in tiles of four samples, [4, channels, tiles]: sample ``4 * tile + phase`` of a channel.
"""

from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from scripts.export_models.graphs.builder import Graph

TILE = 4
SIZES = (3, 5)
# Every product is of two polynomials at these points, and at infinity.
_POINTS = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5)
# Its power is one in each of the four samples, so what is added there is added to all of them.
_ONE = _POINTS.index(1)

Array = NDArray[np.float64]


def transforms(size: int) -> tuple[Array, Array, Array]:
    """``A`` [4, points], ``G`` [points, size] and ``B`` [points, points] for a kernel ``g`` of ``size`` taps.

    ``A @ ((G @ g) * (B @ d))`` is ``[d[i : i + size] @ g for i in range(4)]`` for any ``d`` of as many samples as there
    are points, ``size + 3``.
    """
    count = TILE + size - 1
    return _powers(count, TILE).T, _powers(count, size), np.linalg.inv(_powers(count, count)).T


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


def _powers(count: int, width: int) -> Array:
    """The first ``width`` powers of each of ``count`` points, the last of which is infinity."""
    return np.vstack([np.vander(_POINTS[: count - 1], width, increasing=True), np.eye(width)[-1]])
