"""Whisper's encoder as a graph for processors, with its matrix products in int8.

CTranslate2 keeps the attention of all frames to all frames in memory, ONNX Runtime's MultiHeadAttention without a mask
is its flash attention (Dao et al. 2022) and never does. Rows are quantised as CTranslate2 does it in int8: each row of
activations by its own extremes while it runs, each column of weights by its own here.
"""

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper
from transformers import WhisperConfig

from scripts.export_models.graphs.builder import MICROSOFT, Graph
from scripts.export_models.graphs.linear import Linear, Rows, Weights, column_scales, product, quantise_rows
from scripts.export_models.graphs.progress import SILENT, Progress

_EPSILON = 1e-5
_MIDDLE = 128

Array = NDArray[np.float32]


def whisper_encoder(config: WhisperConfig, state: dict[str, Any], progress: Progress = SILENT) -> onnx.ModelProto:
    """``features`` FP32 [1, mel bins, 2 x frames] of one window to ``encoded`` FP32 [1, frames, width].

    ``state`` holds the encoder's part of a ``WhisperModel``'s state dict. A window may be shorter than the model's.
    """
    g = Graph()
    weights = {name: value.float().numpy() for name, value in state.items()}
    encoder = _WhisperEncoder(g, config.encoder_attention_heads, weights)
    x = encoder.embed("features")
    for layer in progress.over(range(config.encoder_layers), "building layers"):
        x = encoder.layer(x, f"layers.{layer}")
    g.op("Unsqueeze", encoder.norm(x, "layer_norm"), g.constant([0]), output="encoded")
    features = helper.make_tensor_value_info("features", TensorProto.FLOAT, [1, config.num_mel_bins, "positions"])
    encoded = helper.make_tensor_value_info("encoded", TensorProto.FLOAT, [1, "frames", config.d_model])
    return g.model([features], [encoded])


class _WhisperEncoder:
    """Builds the parts of one encoder into a graph; what goes from part to part is [frames, width]."""

    def __init__(self, g: Graph, heads: int, weights: Weights) -> None:
        self._g, self._heads, self._weights = g, heads, weights

    def embed(self, features: str) -> str:
        """Both convolutions, over pictures of height one, for which there are faster kernels, and the positions."""
        g = self._g
        x = g.op("Unsqueeze", features, g.constant([2]))
        for name, stride in (("conv1", 1), ("conv2", 2)):
            kernel, bias = self._weights[f"{name}.weight"][:, :, None], self._weights[f"{name}.bias"]
            x = g.op("Conv", x, self._kept(kernel), self._kept(bias), pads=[0, 1, 0, 1], strides=[1, stride])
            x = g.op("Gelu", x, domain=MICROSOFT)
        rows = g.op("Transpose", g.op("Squeeze", x, g.constant([0, 2])), perm=[1, 0])
        positions = self._kept(self._weights["embed_positions.weight"])
        positions = g.op("Slice", positions, g.constant([0]), g.size(rows, 0))
        return g.op("Add", rows, positions)

    def layer(self, x: str, name: str) -> str:
        """Attention and feed-forward, each behind its norm and added to what came in."""
        g = self._g
        rows = self._quantised(self.norm(x, f"{name}.self_attn_layer_norm"))
        parts = [self._product(rows, f"{name}.self_attn.{part}_proj") for part in ("q", "k", "v")]
        batched = [g.op("Unsqueeze", part, g.constant([0])) for part in parts]
        answer = g.op("MultiHeadAttention", *batched, domain=MICROSOFT, num_heads=self._heads)
        attended = g.op("Squeeze", answer, g.constant([0]))
        x = g.op("Add", x, self._product(self._quantised(attended), f"{name}.self_attn.out_proj"))
        inner = self._product(self._quantised(self.norm(x, f"{name}.final_layer_norm")), f"{name}.fc1")
        active = g.op("Gelu", inner, domain=MICROSOFT)
        return g.op("Add", x, self._product(self._quantised(active), f"{name}.fc2"))

    def norm(self, x: str, name: str) -> str:
        scale, shift = (self._kept(self._weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self._g.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=_EPSILON)

    def _kept(self, array: Array) -> str:
        return self._g.weight(array, "weight")

    def _quantised(self, x: str) -> Rows:
        return quantise_rows(self._g, x, _MIDDLE)

    def _product(self, rows: Rows, name: str) -> str:
        layer = self._linear(name)
        scales = column_scales(layer.weight, 1)
        weight = np.rint(layer.weight / scales).astype(np.int8)
        return self._g.op("Add", product(self._g, rows, weight, scales[0]), self._kept(layer.bias))

    def _linear(self, name: str) -> Linear:
        weight = self._weights[f"{name}.weight"].T
        # Whisper's key projection has no bias.
        return Linear(weight, self._weights.get(f"{name}.bias", np.zeros(weight.shape[1], np.float32)))
