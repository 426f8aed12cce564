"""Int8 weights of linear layers: the arithmetic that prepares them, without a graph.

Activations are quantised at run time, each token by its own extremes. Four things keep the loss small:

- Channels that are large in the inputs are scaled down and their weights up (SmoothQuant, Xiao et al. 2022).
- Before that, each channel's mean is subtracted (Outlier Suppression+, Wei et al. 2023).
- The zero point follows the skew of the inputs.
- Later weights compensate the rounding error of each weight (GPTQ, Frantar et al. 2022).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from scripts.export_models.onnx_graph import LARGEST, Linear
from scripts.export_models.text.calibration import Inputs

# Both were tuned on held-out texts: GPTQ with less damping fits the calibration texts and loses on others.
_DAMPING = 0.3
# SmoothQuant's alpha: the share of a channel's size that moves to the weights.
_TO_WEIGHTS = np.float32(0.6)
# Input channels that GPTQ rounds one by one before it updates all others; so few stay in a cache.
_BLOCK = 32
_TINY = 1e-5

Array = NDArray[np.float32]
# Weights [in, out], their scales [groups, out] and X'X/n of the inputs [in, in] to int8 [in, out].
Rounding = Callable[[Array, Array, NDArray[np.float64]], NDArray[np.int8]]


@dataclass(frozen=True)
class Smoothing:
    """Prepares the inputs of a layer: ``(x - shift) / scale``, each [in]."""

    scale: Array
    shift: Array

    def of_inputs(self, layer: Linear) -> Linear:
        """The layer that answers for prepared inputs as ``layer`` does for plain ones."""
        return Linear(layer.weight * self.scale[:, None], layer.bias + self.shift @ layer.weight)

    def of_outputs(self, layer: Linear) -> Linear:
        """The layer whose outputs are those of ``layer``, prepared."""
        return Linear(layer.weight / self.scale, (layer.bias - self.shift) / self.scale)

    def hessian(self, inputs: Inputs) -> NDArray[np.float64]:
        """X'X/n of the prepared ``inputs``, [in, in]."""
        mean, shift = inputs.mean.astype(np.float64), self.shift.astype(np.float64)
        centred = inputs.hessian - np.outer(mean, shift) - np.outer(shift, mean) + np.outer(shift, shift)
        return centred / np.outer(self.scale, self.scale)

    def sample(self, inputs: Inputs) -> Array:
        """The sampled tokens of ``inputs``, prepared, [tokens, in]."""
        return (inputs.sample - self.shift) / self.scale


def smoothing(inputs: Inputs, weight: Array) -> Smoothing:
    """SmoothQuant for ``weight`` [in, out]: each channel's size is divided between inputs and weights."""
    shift = inputs.mean
    abs_max = np.maximum(np.maximum(inputs.high - shift, shift - inputs.low), _TINY)
    size = np.maximum(np.abs(weight).max(axis=1), _TINY)
    return Smoothing(abs_max**_TO_WEIGHTS / size ** (1 - _TO_WEIGHTS), shift)


def zero_point(sample: Array) -> int:
    """The zero point of uint8 with the smallest mean squared scale over the tokens of ``sample`` [tokens, in]."""
    candidates = np.arange(8, 129)
    below = np.maximum(-sample.min(axis=1), 0)[:, None] / candidates
    above = np.maximum(sample.max(axis=1), 0)[:, None] / (255 - candidates)
    return int(candidates[(np.maximum(below, above) ** 2).mean(axis=0).argmin()])


def nearest(weight: Array, scales: Array, hessian: NDArray[np.float64]) -> NDArray[np.int8]:
    """Each weight rounded by itself: at once, and less exact than ``rounded``."""
    whole = np.round(weight / np.repeat(scales, len(weight) // len(scales), axis=0))
    return np.clip(whole, -LARGEST, LARGEST).astype(np.int8)


def rounded(weight: Array, scales: Array, hessian: NDArray[np.float64]) -> NDArray[np.int8]:
    """GPTQ: the int8 [in, out] with which ``x @ (rounded * scales)`` is close to ``x @ weight``.

    ``scales`` is [groups, out], ``hessian`` [in, in] is X'X/n of the inputs. The input with the largest diagonal is
    rounded first.
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

    It is the flipped inverse of the Cholesky factor of the flipped matrix, which takes a tenth of the time of an
    inverse and its Cholesky factor.
    """
    lower = torch.linalg.cholesky(matrix.flip(0, 1))
    return torch.linalg.solve_triangular(lower, torch.eye(len(lower), dtype=lower.dtype), upper=False).flip(0, 1)
