"""Linear layers in int8: the arithmetic of preparing their weights, without a graph.

Activations are quantised at run time, each token by its own extremes, weights here. Three things keep the loss small:
channels that are large in the inputs are scaled down and the weights up (SmoothQuant, Xiao et al. 2022) around the
inputs' mean (Outlier Suppression+, Wei et al. 2023), the zero point follows the inputs' skew, and the rounding error of
each weight is made good by the weights that are rounded after it (GPTQ, Frantar et al. 2022).
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from scripts.export_models.graphs.linear import LARGEST, Linear
from scripts.export_models.text.calibration import Inputs

# Both were tried on texts that were held out: weaker damping fits the calibration's texts and loses on others.
_DAMPING = 0.3
_TO_WEIGHTS = np.float32(0.6)
# Rows that are rounded one by one, so few that each stays in a cache and in one thread.
_BLOCK = 32
_TINY = 1e-5

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Smoothing:
    """How inputs are prepared: ``(x - shift) / scale``, each [in]."""

    scale: Array
    shift: Array

    def given(self, layer: Linear) -> Linear:
        """The layer that takes prepared inputs and answers as ``layer`` does of plain ones."""
        return Linear(layer.weight * self.scale[:, None], layer.bias + self.shift @ layer.weight)

    def giving(self, layer: Linear) -> Linear:
        """The layer whose outputs are ``layer``'s, prepared."""
        return Linear(layer.weight / self.scale, (layer.bias - self.shift) / self.scale)

    def hessian(self, inputs: Inputs) -> NDArray[np.float64]:
        """The Hessian of prepared inputs, from that of plain ones."""
        mean, shift = inputs.mean.astype(np.float64), self.shift.astype(np.float64)
        centred = inputs.hessian - np.outer(mean, shift) - np.outer(shift, mean) + np.outer(shift, shift)
        return centred / np.outer(self.scale, self.scale)

    def sample(self, inputs: Inputs) -> Array:
        return (inputs.sample - self.shift) / self.scale


def smoothing(inputs: Inputs, weight: Array) -> Smoothing:
    """Share each channel's size between inputs and ``weight`` [in, out], most of it to the weights."""
    shift = inputs.mean
    abs_max = np.maximum(np.maximum(inputs.high - shift, shift - inputs.low), _TINY)
    size = np.maximum(np.abs(weight).max(axis=1), _TINY)
    return Smoothing(abs_max**_TO_WEIGHTS / size ** (1 - _TO_WEIGHTS), shift)


def zero_point(sample: Array) -> int:
    """The uint8 that stands for zero so that the scales of the tokens of ``sample`` [n, in] are smallest together."""
    candidates = np.arange(8, 129)
    below = np.maximum(-sample.min(axis=1), 0)[:, None] / candidates
    above = np.maximum(sample.max(axis=1), 0)[:, None] / (255 - candidates)
    return int(candidates[(np.maximum(below, above) ** 2).mean(axis=0).argmin()])


def rounded(weight: Array, scales: Array, hessian: NDArray[np.float64]) -> NDArray[np.int8]:
    """GPTQ: int8 [in, out], such that ``x @ (rounded * scales)`` is nearest for inputs of this ``hessian`` [in, in].

    ``scales`` is [groups, out]. Inputs are rounded from the one with the largest diagonal to the smallest.
    """
    order = np.argsort(-np.diag(hessian))
    scale = torch.from_numpy(np.repeat(scales, len(weight) // len(scales), axis=0)[order])
    left = torch.from_numpy(weight[order])
    damped = torch.from_numpy(hessian[np.ix_(order, order)])
    damped.diagonal().add_(_DAMPING * damped.diagonal().mean() + 1e-12)
    factor = cholesky_factor_of_inverse(damped).float()
    answer = torch.empty_like(left)
    for begin in range(0, len(left), _BLOCK):
        end = min(begin + _BLOCK, len(left))
        errors = torch.empty_like(left[begin:end])
        for at in range(begin, end):
            answer[at] = torch.clamp(torch.round(left[at] / scale[at]), -LARGEST, LARGEST)
            errors[at - begin] = (left[at] - answer[at] * scale[at]) / factor[at, at]
            left[at + 1 : end] -= torch.outer(factor[at, at + 1 : end], errors[at - begin])
        left[end:] -= factor[begin:end, end:].T @ errors
    result = np.empty(weight.shape, np.int8)
    result[order] = answer.numpy().astype(np.int8)
    return result


def cholesky_factor_of_inverse(matrix: torch.Tensor) -> torch.Tensor:
    """The upper triangular U [n, n] with ``U.T @ U`` the inverse of a positive definite matrix.

    Turned about both axes, the lower root's inverse of the turned matrix is it: a tenth of the time of its inverse and
    that one's root.
    """
    lower = torch.linalg.cholesky(matrix.flip(0, 1))
    return torch.linalg.solve_triangular(lower, torch.eye(len(lower), dtype=lower.dtype), upper=False).flip(0, 1)
