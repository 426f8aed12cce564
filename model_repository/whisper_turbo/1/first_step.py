"""The first step of Whisper's decoder in NumPy, which tells the language.

CTranslate2 takes a Whisper with another vocabulary than OpenAI's for an English-only one and refuses to detect its
language. The export writes the decoder's weights of such a checkpoint into ``first_step.npz``.
The step sees the start token alone, so self-attention is the value projection of one position.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float32]

_EPSILON = 1e-5
_erf = np.vectorize(math.erf, otypes=[np.float32])


def _gelu(x: Float) -> Float:
    activated: Float = x * 0.5 * (1 + _erf(x / math.sqrt(2)))
    return activated


def _softmax(x: Float) -> Float:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    share: Float = powers / powers.sum(axis=-1, keepdims=True)
    return share


class FirstStep:
    """Language probabilities from an encoder output; ``languages`` maps codes to token ids."""

    def __init__(self, path: Path, languages: dict[str, int], start: int) -> None:
        with np.load(path) as file:
            self._w: dict[str, Any] = {name: file[name].astype(np.float32) for name in file.files}
        self._heads = int(self._w["heads"])
        self._layers = int(self._w["layers"])
        self._codes = list(languages)
        self._ids = list(languages.values())
        self._start = start

    def detect(self, encoded: Float) -> str:
        """The likeliest language of one window's encoder output [frames, width]."""
        x = self._w["embed_tokens.weight"][self._start] + self._w["embed_positions.weight"][0]
        for layer in range(self._layers):
            name = f"layers.{layer}"
            x = x + self._self_attention(self._norm(x, f"{name}.self_attn_layer_norm"), name)
            x = x + self._cross_attention(self._norm(x, f"{name}.encoder_attn_layer_norm"), encoded, name)
            inner = _gelu(self._linear(self._norm(x, f"{name}.final_layer_norm"), f"{name}.fc1"))
            x = x + self._linear(inner, f"{name}.fc2")
        logits = self._w["embed_tokens.weight"][self._ids] @ self._norm(x, "layer_norm")
        return self._codes[int(logits.argmax())]

    def _norm(self, x: Float, name: str) -> Float:
        scaled = (x - x.mean()) / np.sqrt(x.var() + _EPSILON)
        normal: Float = scaled * self._w[f"{name}.weight"] + self._w[f"{name}.bias"]
        return normal

    def _linear(self, x: Float, name: str) -> Float:
        # Whisper's key projection has no bias.
        product: Float = x @ self._w[f"{name}.weight"].T + self._w.get(f"{name}.bias", 0)
        return product

    def _self_attention(self, x: Float, name: str) -> Float:
        return self._linear(self._linear(x, f"{name}.self_attn.v_proj"), f"{name}.self_attn.out_proj")

    def _cross_attention(self, x: Float, encoded: Float, name: str) -> Float:
        part = f"{name}.encoder_attn"
        width = x.shape[-1] // self._heads
        query = self._linear(x, f"{part}.q_proj").reshape(self._heads, 1, width)
        keys = self._linear(encoded, f"{part}.k_proj").reshape(-1, self._heads, width).transpose(1, 2, 0)
        values = self._linear(encoded, f"{part}.v_proj").reshape(-1, self._heads, width).transpose(1, 0, 2)
        shares = _softmax(query @ keys / math.sqrt(width))
        return self._linear((shares @ values).reshape(-1), f"{part}.out_proj")
