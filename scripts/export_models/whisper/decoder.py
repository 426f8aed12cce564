"""Whisper's decoder for OpenVINO, a step at a time, with its weights in int8."""

from typing import Any

import numpy as np
import openvino as ov
from openvino import opset15 as op

from scripts.export_models.whisper.layers import Layers, in_int8, joined, model, named_input, scaled


def whisper_decoder(config: Any, state: dict[str, Any]) -> ov.Model:
    """``tokens`` INT32 [windows, new] at ``positions`` INT32 [new] to the last's ``logits`` FP32 [windows, vocabulary].

    Every head attends to what came before, ``past_keys.N`` and ``past_values.N`` FP32 [windows, heads, past, width of a
    head], as far as ``mask`` FP32 [new, past + new] lets it, which is added to the scores; what is new of these comes
    back as ``new_keys.N`` and ``new_values.N``. ``keys.N`` and ``values.N`` are the encoder's. ``state`` is the state
    dict of a ``WhisperModel``, whose token embedding is its last layer too.
    """
    decoder = _Decoder(config.decoder_attention_heads, config.d_model, state)
    logits = decoder.logits(config.decoder_layers)
    return model("decoder", decoder.inputs, {"logits": logits, **decoder.new})


class _Decoder(Layers):
    """Builds one decoder: its ``inputs``, and by name the ``new`` keys and values."""

    def __init__(self, heads: int, width: int, state: dict[str, Any]) -> None:
        super().__init__(heads, width, state)
        self.inputs: list[Any] = []
        self.new: dict[str, Any] = {}

    def _input(self, name: str, shape: list[int], kind: Any = np.float32) -> Any:
        self.inputs.append(named_input(name, shape, kind))
        return self.inputs[-1]

    def logits(self, layers: int) -> Any:
        tokens, positions = self._input("tokens", [-1, -1], np.int32), self._input("positions", [-1], np.int32)
        mask = self._input("mask", [-1, -1])
        words, steps = in_int8(self.weight("decoder.embed_tokens.weight"))
        x = op.multiply(op.convert(op.gather(words, tokens, 0), np.float32), op.gather(steps, tokens, 0))
        x = op.add(x, op.gather(self.weight("decoder.embed_positions.weight"), positions, 0))
        for layer in range(layers):
            x = self._layer(x, f"decoder.layers.{layer}", layer, mask)
        last = op.gather(self.norm(x, "decoder.layer_norm"), -1, 1)
        return op.matmul(last, scaled(words, steps), False, True)

    def _layer(self, x: Any, name: str, layer: int, mask: Any) -> Any:
        """Attention to itself, attention to the encoder's output, and feed-forward."""
        its = self.norm(x, f"{name}.self_attn_layer_norm")
        query, key, value = (self.split(self.linear(its, f"{name}.self_attn.{part}_proj")) for part in "qkv")
        keys, values = self._with_past("keys", key, layer), self._with_past("values", value, layer)
        scores = op.add(op.multiply(op.matmul(query, keys, False, True), self.scale), mask)
        attended = op.matmul(op.softmax(scores, -1), values, False, False)
        x = op.add(x, self.linear(joined(attended), f"{name}.self_attn.out_proj"))
        its = self.norm(x, f"{name}.encoder_attn_layer_norm")
        query = self.split(self.linear(its, f"{name}.encoder_attn.q_proj"))
        keys = self._input(f"keys.{layer}", [-1, self.heads, -1, self.head_width])
        values = self._input(f"values.{layer}", [-1, self.heads, -1, self.head_width])
        attended = op.matmul(op.softmax(op.matmul(query, keys, False, True), -1), values, False, False)
        x = op.add(x, self.linear(joined(attended), f"{name}.encoder_attn.out_proj"))
        inner = self.linear(self.norm(x, f"{name}.final_layer_norm"), f"{name}.fc1")
        return op.add(x, self.linear(op.gelu(inner, "ERF"), f"{name}.fc2"))

    def _with_past(self, name: str, new: Any, layer: int) -> Any:
        past = self._input(f"past_{name}.{layer}", [-1, self.heads, -1, self.head_width])
        self.new[f"new_{name}.{layer}"] = new
        return op.concat([past, new], 2)
