"""Whisper's encoder for OpenVINO, with its matrix products in int8.

Each row of activations is quantised by its own extremes while it runs, each row of weights by its own here, as
CTranslate2 does it in int8. OpenVINO multiplies integers where it meets a fake quantisation within fixed bounds; so
each row is divided by its own step before, and what comes of it multiplied by that step. All else, attention included,
is computed in what the processor has: bfloat16 in hardware, or float32.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset15 as op

from scripts.export_models.graphs.progress import SILENT, Progress

_EPSILON = 1e-5
_LEAST_STEP = 1e-9
_MIDDLE = 128
# What GELU gives is 0.17 below zero at most, and far above it. Twice and half of this lose more on the demo's Whisper.
_LOW = 16

Array = NDArray[np.float32]


def whisper_encoder(config: Any, state: dict[str, Any], progress: Progress = SILENT) -> ov.Model:
    """``features`` FP32 [1, mel bins, 2 x frames] of one window to ``encoded`` FP32 [1, frames, width].

    ``state`` holds the encoder's part of a ``WhisperModel``'s state dict. A window may be shorter than the model's.
    """
    weights = {name: value.float().numpy() for name, value in state.items()}
    encoder = _Encoder(config.encoder_attention_heads, weights)
    features = op.parameter(ov.PartialShape([1, config.num_mel_bins, -1]), np.float32, name="features")
    features.output(0).set_names({"features"})
    x = encoder.embed(features)
    for layer in progress.over(range(config.encoder_layers), "building layers"):
        x = encoder.layer(x, f"layers.{layer}")
    encoded = op.result(encoder.norm(x, "layer_norm"))
    encoded.output(0).set_names({"encoded"})
    return ov.Model([encoded], [features], "encoder")


@dataclass(frozen=True)
class _Rows:
    """Rows in uint8 around ``zero``, [1, rows, in], and the ``step`` of each, [1, rows, 1]."""

    quantised: Any
    step: Any
    zero: int


class _Encoder:
    """Builds the parts of one encoder; what goes from part to part is [1, frames, width]."""

    def __init__(self, heads: int, weights: dict[str, Array]) -> None:
        self._heads, self._weights = heads, weights

    def embed(self, features: Any) -> Any:
        """Both convolutions, and the positions."""
        x = features
        for name, stride in (("conv1", 1), ("conv2", 2)):
            convolved = op.convolution(x, self._weights[f"{name}.weight"], [stride], [1], [1], [1])
            x = op.gelu(op.add(convolved, self._weights[f"{name}.bias"][None, :, None]), "ERF")
        rows = op.transpose(x, [0, 2, 1])
        frames = op.gather(op.shape_of(rows), [1], 0)
        return op.add(rows, op.slice(self._weights["embed_positions.weight"][None], [0], frames, [1], [1]))

    def layer(self, x: Any, name: str) -> Any:
        """Attention and feed-forward, each behind its norm and added to what came in."""
        rows = _in_steps(self.norm(x, f"{name}.self_attn_layer_norm"), _MIDDLE)
        query, key, value = (self._split(self._product(rows, f"{name}.self_attn.{part}_proj")) for part in "qkv")
        attended = op.transpose(op.scaled_dot_product_attention(query, key, value), [0, 2, 1, 3])
        x = op.add(x, self._product(_in_steps(_joined(attended), _MIDDLE), f"{name}.self_attn.out_proj"))
        inner = self._product(_in_steps(self.norm(x, f"{name}.final_layer_norm"), _MIDDLE), f"{name}.fc1")
        return op.add(x, self._product(_in_steps(op.gelu(inner, "ERF"), _LOW), f"{name}.fc2"))

    def norm(self, x: Any, name: str) -> Any:
        even = op.mvn(x, [-1], True, _EPSILON, "INSIDE_SQRT")
        return op.add(op.multiply(even, self._weights[f"{name}.weight"]), self._weights[f"{name}.bias"])

    def _split(self, x: Any) -> Any:
        """The part of each head, [1, heads, frames, width of a head]."""
        return op.transpose(op.reshape(x, [1, 0, self._heads, -1], True), [0, 2, 1, 3])

    def _product(self, rows: _Rows, name: str) -> Any:
        """The linear layer of that name; Whisper's key projection has no bias."""
        weight = self._weights[f"{name}.weight"]
        scales = np.maximum(np.abs(weight).max(axis=1, keepdims=True), 1e-12) / 127
        kept = np.rint(weight / scales).astype(np.int8)
        product = op.matmul(rows.quantised, op.multiply(op.convert(kept, np.float32), scales), False, True)
        product = op.subtract(product, rows.zero * (kept * scales).sum(axis=1))
        bias = self._weights.get(f"{name}.bias", np.zeros(len(weight), np.float32))
        return op.add(op.multiply(product, rows.step), bias)


def _joined(heads: Any) -> Any:
    return op.reshape(heads, [1, 0, -1], True)


def _in_steps(x: Any, zero: int) -> _Rows:
    """Quantise each row by its own extremes.

    A step goes through a matrix product, since OpenVINO keeps in float32 whatever reaches the model's output past none,
    and what that was taken from with it. In bfloat16 the encoder takes a tenth less time.
    """
    highest = op.multiply(op.reduce_max(x, [-1], True), np.float32(1 / (255 - zero)))
    lowest = op.multiply(op.reduce_min(x, [-1], True), np.float32(-1 / zero))
    step = op.maximum(op.maximum(highest, lowest), np.float32(_LEAST_STEP))
    step = op.matmul(step, np.ones((1, 1), np.float32), False, False)
    bounds = [np.float32(bound) for bound in (0, 255)]
    return _Rows(op.fake_quantize(op.add(op.divide(x, step), np.float32(zero)), *bounds, *bounds, 256), step, zero)
