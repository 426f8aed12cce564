"""The encoder's matrix products in int8: what their inputs are, how their weights are rounded, and the graph of both.

Each token has its own scale, so a text's vector is the same in every batch. Four things keep the loss small:

- Channels that are large in the inputs are scaled down and their weights up (SmoothQuant, Xiao et al. 2022).
- Before that, each channel's mean is subtracted (Outlier Suppression+, Wei et al. 2023).
- The zero point follows the skew of the inputs.
- Later weights compensate the rounding error of each weight (GPTQ, Frantar et al. 2022).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from scripts.export_models.onnx_graph import (
    LARGEST,
    MICROSOFT,
    Array,
    Graph,
    Linear,
    Quantised,
    column_scales,
    product,
    quantise_tokens,
)
from scripts.export_models.progress import SILENT, Progress

# Prose, questions, code and letters in many languages.
_TEXTS = Path(__file__).with_name("calibration.txt")
_HELD_OUT_EVERY = 5
# About so many tokens of each text are sampled.
_SAMPLED_TOKENS = 8
# The most tokens of a batch, with padding. X'X of M3's widest layer is 64 MB, so each batch should be large.
_BATCH_TOKENS = 1024
# Query, key and value share their inputs, which are measured once.
_MEASURED = ("attention.self.query", "attention.output.dense", "intermediate.dense", "output.dense")
# Both were tuned on held-out texts: GPTQ with less damping fits the calibration texts and loses on others.
_DAMPING = 0.3
# SmoothQuant's alpha: the share of a channel's size that moves to the weights.
_TO_WEIGHTS = np.float32(0.6)
# Input channels that GPTQ rounds one by one before it updates all others; so few stay in a cache.
_BLOCK = 32
_TINY = 1e-5

# Groups of the wide feed-forward channels, sorted by size. Each has its own scales, since their sizes differ most.
_GROUPS = 4

# Weights [in, out], their scales [groups, out] and X'X/n of the inputs [in, in] to int8 [in, out].
Rounding = Callable[[Array, Array, NDArray[np.float64]], NDArray[np.int8]]


# What the inputs are


@dataclass
class Inputs:
    """The inputs X [tokens, in] of a layer: ``low``, ``high`` and ``total`` [in], ``products`` X'X [in, in].

    ``rows`` are sampled tokens.
    """

    low: NDArray[np.float32]
    high: NDArray[np.float32]
    total: NDArray[np.float64]
    products: NDArray[np.float32]
    count: int = 0
    rows: list[NDArray[np.float32]] = field(default_factory=list)

    @classmethod
    def of_width(cls, width: int) -> "Inputs":
        edge = np.full(width, np.inf, np.float32)
        return cls(edge, -edge, np.zeros(width), np.zeros((width, width), np.float32))

    def add(self, given: torch.Tensor) -> None:
        """Add tokens [tokens, in]."""
        rows = given.numpy()
        self.low = np.minimum(self.low, rows.min(axis=0))
        self.high = np.maximum(self.high, rows.max(axis=0))
        self.total += rows.sum(axis=0)
        torch.from_numpy(self.products).addmm_(given.T, given)
        self.count += len(rows)

    def keep(self, text: torch.Tensor) -> None:
        """Sample about as many tokens from a long text [tokens, in] as from a short one."""
        self.rows.append(text[:: max(1, len(text) // _SAMPLED_TOKENS)].numpy().copy())

    @property
    def mean(self) -> NDArray[np.float32]:
        mean: NDArray[np.float32] = (self.total / self.count).astype(np.float32)
        return mean

    @property
    def hessian(self) -> NDArray[np.float64]:
        """X'X/n [in, in], for n tokens."""
        return self.products.astype(np.float64) / self.count

    @property
    def sample(self) -> NDArray[np.float32]:
        """The sampled tokens, [tokens, in]."""
        return np.concatenate(self.rows)


Calibration = dict[str, Inputs]


def texts() -> list[str]:
    """The texts to calibrate on."""
    return [line for at, line in enumerate(_lines()) if at % _HELD_OUT_EVERY]


def held_out() -> list[str]:
    """Texts of the same kinds that no calibration has seen."""
    return _lines()[::_HELD_OUT_EVERY]


def _lines() -> list[str]:
    return _TEXTS.read_text(encoding="utf-8").splitlines()


def calibrate(encoder: Any, ids: Sequence[NDArray[np.int32]], progress: Progress = SILENT) -> Calibration:
    """Run a Hugging Face encoder on token ids and measure the inputs of its linear layers, by layer name."""
    found: Calibration = {}
    for batch in progress.over(list(_batches(ids)), "calibrating"):
        padded = pad_sequence(batch, batch_first=True, padding_value=encoder.config.pad_token_id)
        real = pad_sequence([torch.ones(len(text), dtype=torch.bool) for text in batch], batch_first=True)
        with torch.inference_mode(), _measuring(encoder, real, found):
            encoder(input_ids=padded, attention_mask=real.long())
    return found


def _batches(ids: Sequence[NDArray[np.int32]]) -> Iterator[list[torch.Tensor]]:
    """Batches of texts of similar lengths."""
    batch: list[torch.Tensor] = []
    for text in sorted(ids, key=len):
        if batch and (len(batch) + 1) * len(text) > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(torch.from_numpy(text.astype(np.int64)))
    yield batch


@contextmanager
def _measuring(encoder: Any, real: torch.Tensor, into: Calibration) -> Iterator[None]:
    """Within the block, add the layers' inputs at the tokens that are ``real``, BOOL [texts, tokens]."""

    def measure(name: str) -> Any:
        def hook(_: Any, given: tuple[torch.Tensor, ...]) -> None:
            inputs = into.setdefault(name, Inputs.of_width(given[0].shape[-1]))
            inputs.add(given[0][real])
            for text, tokens in zip(given[0], real, strict=True):
                inputs.keep(text[tokens])

        return hook

    hooks = [
        module.register_forward_pre_hook(measure(name))
        for name, module in encoder.named_modules()
        if isinstance(module, torch.nn.Linear) and name.endswith(_MEASURED)
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


# How weights are rounded


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


# The graph


@dataclass(frozen=True)
class Measured:
    """A linear layer whose ``inputs`` were measured, and how they are prepared."""

    layer: Linear
    inputs: Inputs
    smooth: Smoothing

    def zero_point(self) -> int:
        return zero_point(self.smooth.sample(self.inputs))


def products(g: Graph, x: str, measured: Measured, rounding: Rounding, parts: int = 1) -> list[str]:
    """The layer's outputs for the prepared inputs ``x``, FP32 [tokens, out], in ``parts`` of equal width."""
    layer = measured.smooth.of_inputs(measured.layer)
    scales = column_scales(layer.weight, 1)
    weight = rounding(layer.weight, scales, measured.smooth.hessian(measured.inputs))
    tokens = quantise_tokens(g, x, measured.zero_point())
    each = (np.split(array, parts, axis=-1) for array in (weight, scales[0], layer.bias))
    return [
        g.op("Add", product(g, tokens, part, scale), g.weight(bias, "bias"))
        for part, scale, bias in zip(*each, strict=True)
    ]


def feed_forward(
    g: Graph, tokens: Quantised, x: str, first: Measured, second: Linear, inner: Inputs, rounding: Rounding
) -> str:
    """``x`` FP32 [tokens, width] and what both layers of a feed-forward add to it for the quantised ``tokens``.

    They compute group by group: the outputs of the ``first``, sorted by absolute maximum, feed the ``second``, whose
    inputs are ``inner``.
    """
    order = np.argsort(-np.maximum(inner.high, -inner.low))
    wide = first.smooth.of_inputs(first.layer).columns(order)
    scales = column_scales(wide.weight, 1)
    widening = np.split(rounding(wide.weight, scales, first.smooth.hessian(first.inputs)), _GROUPS, axis=1)
    narrow = second.weight[order]
    narrow_scales = column_scales(narrow, _GROUPS)
    narrowing = np.split(rounding(narrow, narrow_scales, inner.hessian[np.ix_(order, order)]), _GROUPS)
    sample = inner.sample[:, order]
    for group, channels in enumerate(np.split(np.arange(len(order)), _GROUPS)):
        some = product(g, tokens, widening[group], scales[0, channels])
        active = g.op("Gelu", g.op("Add", some, g.weight(wide.bias[channels], "bias")), domain=MICROSOFT)
        part = quantise_tokens(g, active, zero_point(sample[:, channels]))
        x = g.op("Add", x, product(g, part, narrowing[group], narrow_scales[group]))
    return g.op("Add", x, g.weight(second.bias, "bias"))
