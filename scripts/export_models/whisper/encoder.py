"""Whisper's encoder for OpenVINO, with its matrix products in int8.

Each row of activations is quantised at run time by its own extremes, each row of weights at export, as in CTranslate2.
OpenVINO multiplies integers only after a fake quantisation with fixed bounds, so each row is divided by its scale
before, and the product is multiplied by it. Everything else is computed in bfloat16 if the processor has it, else in
float32.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset15 as op

from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.whisper.layers import Layers, dequantised, in_int8, joined, model, named_input

# Rows of zeros must not be divided by zero.
_LEAST_SCALE = 1e-9
# Zero points: of activations around zero, and of GELU's output, which is at least -0.17. For the latter, 8 and 32 lose
# more on the demo's Whisper.
_MIDDLE, _LOW = 128, 16


def whisper_encoder(config: Any, state: dict[str, Any], progress: Progress = SILENT) -> ov.Model:
    """``features`` FP32 [1, mel bins, 2 x frames] of a window of any length to ``encoded`` FP32 [1, frames, width].

    Further outputs are ``keys.N`` and ``values.N`` [1, heads, frames, width of a head] for layer N of the decoder; the
    keys are divided by the square root of their width. ``state`` is the state dict of a ``WhisperModel``.
    """
    encoder = _Encoder(config.encoder_attention_heads, config.d_model, state)
    features = named_input("features", [1, config.num_mel_bins, -1])
    x = encoder.embed(features)
    for layer in progress.over(range(config.encoder_layers), "building layers"):
        x = encoder.layer(x, f"encoder.layers.{layer}")
    outputs = {"encoded": encoder.norm(x, "encoder.layer_norm")}
    frames = _quantised(outputs["encoded"], _MIDDLE)
    for layer in range(config.decoder_layers):
        key, value = (encoder.heads_of(frames, f"decoder.layers.{layer}.encoder_attn.{part}_proj") for part in "kv")
        outputs[f"keys.{layer}"] = op.multiply(key, encoder.scale)
        outputs[f"values.{layer}"] = value
    return model("encoder", [features], {name: node.output(0) for name, node in outputs.items()})


@dataclass(frozen=True)
class _Quantised:
    """Frames in uint8 around ``zero_point``, ``values`` [1, frames, in], and their ``scale`` [1, frames, 1]."""

    values: Any
    scale: Any
    zero_point: int


class _Encoder(Layers):
    """Builds the parts of an encoder; activations are [1, frames, width]."""

    def embed(self, features: Any) -> Any:
        """The two convolutions and the positions."""
        x = features
        for name, stride in (("encoder.conv1", 1), ("encoder.conv2", 2)):
            convolved = op.convolution(x, self.weight(f"{name}.weight"), [stride], [1], [1], [1])
            x = op.gelu(op.add(convolved, self.weight(f"{name}.bias")[None, :, None]), "ERF")
        x = op.transpose(x, [0, 2, 1])
        frames = op.gather(op.shape_of(x), [1], 0)
        positions = op.slice(self.weight("encoder.embed_positions.weight"), [0], frames, [1], [0])
        return op.add(x, op.unsqueeze(positions, 0))

    def layer(self, x: Any, name: str) -> Any:
        """Attention and feed-forward, each after a normalisation and with a residual connection."""
        frames = _quantised(self.norm(x, f"{name}.self_attn_layer_norm"), _MIDDLE)
        query, key, value = (self.heads_of(frames, f"{name}.self_attn.{part}_proj") for part in "qkv")
        attended = joined(self._attention(query, key, value))
        x = op.add(x, self._product(_quantised(attended, _MIDDLE), f"{name}.self_attn.out_proj"))
        inner = self._product(_quantised(self.norm(x, f"{name}.final_layer_norm"), _MIDDLE), f"{name}.fc1")
        return op.add(x, self._product(_quantised(op.gelu(inner, "ERF"), _LOW), f"{name}.fc2"))

    def _attention(self, query: Any, key: Any, value: Any) -> Any:
        """Attention whose queries and keys are multiplied in int8 (SageAttention, Zhang et al. 2024).

        Each query has a scale, and the keys of each head share one. The weights of the values stay in floating point:
        of many values, each weight is too small for int8.
        """
        queries, query_scale = _quantised_around_zero(query, [-1])
        keys, key_scale = _quantised_around_zero(key, [-2, -1])
        scale = op.multiply(op.multiply(query_scale, key_scale), self.scale)
        scores = op.multiply(op.matmul(queries, keys, False, True), scale)
        return op.matmul(op.softmax(scores, -1), value, False, False)

    def heads_of(self, frames: _Quantised, name: str) -> Any:
        return self.split(self._product(frames, name))

    def _product(self, frames: _Quantised, name: str) -> Any:
        weight, scales = in_int8(self.weight(f"{name}.weight"))
        product = op.matmul(frames.values, dequantised(weight, scales), False, True)
        centred = op.subtract(product, frames.zero_point * (weight * scales).sum(axis=1))
        return op.add(op.multiply(centred, frames.scale), self.bias(name))


def _quantised(x: Any, zero_point: int) -> _Quantised:
    """Quantise each frame by its own extremes."""
    highest = op.multiply(op.reduce_max(x, [-1], True), np.float32(1 / (255 - zero_point)))
    lowest = op.multiply(op.reduce_min(x, [-1], True), np.float32(-1 / zero_point))
    scale = _in_bfloat16(op.maximum(highest, lowest))
    return _Quantised(_rounded(op.add(op.divide(x, scale), np.float32(zero_point)), 0, 255), scale, zero_point)


def _quantised_around_zero(x: Any, axes: list[int]) -> tuple[Any, Any]:
    """``x`` in int8 by its absolute maximum along ``axes``, and the scales."""
    scale = _in_bfloat16(op.multiply(op.reduce_max(op.abs(x), axes, True), np.float32(1 / 127)))
    return _rounded(op.divide(x, scale), -128, 127), scale


def _in_bfloat16(scale: Any) -> Any:
    """A scale, computed in bfloat16.

    OpenVINO computes in float32 what reaches the output without a matrix product, with everything before it. A product
    with 1 avoids that: the encoder takes a tenth less time.
    """
    return op.matmul(op.maximum(scale, np.float32(_LEAST_SCALE)), np.ones((1, 1), np.float32), False, False)


def _rounded(x: Any, lowest: int, highest: int) -> Any:
    bounds = [np.float32(lowest), np.float32(highest)]
    return op.fake_quantize(x, *bounds, *bounds, 256)
