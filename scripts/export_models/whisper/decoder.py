"""Whisper's decoder for OpenVINO, which runs step by step and has int8 weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset15 as op
from openvino.op.util import Variable, VariableInfo

from scripts.export_models.whisper.layers import Layers, dequantised, in_int8, joined, model, named_input

# The likeliest next tokens that a step returns for each row; a search with beam N reads N + 1.
CANDIDATES = 10


def whisper_decoder(config: Any, state: dict[str, Any], alignment_heads: Sequence[Sequence[int]]) -> ov.Model:
    """``tokens`` INT32 [rows, new] at ``positions`` INT32 [new] to the scores of the token after them.

    Each window has the same number of rows, next to each other, for the hypotheses of a search. ``keys.N`` and
    ``values.N`` FP32 [windows, heads, frames, width of a head] are the encoder's outputs for layer N. Keys and values
    of earlier tokens are the model's state: row R continues row ``parents[R]`` INT32 [rows] of the previous step.
    ``mask`` FP32 [new, past + new] is added to the scores of self-attention, ``bias`` FP32 [vocabulary] to the logits.
    Outputs are FP32, except ``candidates`` INT32:

    - ``logits`` [rows, vocabulary], without the bias,
    - ``scores`` and ``candidates`` [rows, 10], the highest logits with the bias, in order; minus ``log_sum`` [rows, 1]
      they are log probabilities,
    - ``queries`` [rows, alignment heads, new, width of a head], which show where in the window the tokens are.

    ``state`` is the state dict of a ``WhisperModel``, whose token embedding is also its last layer; ``alignment_heads``
    are pairs of layer and head.
    """
    decoder = _Decoder(config.decoder_attention_heads, config.d_model, state, alignment_heads)
    return decoder.model(config.decoder_layers)


class _Decoder(Layers):
    """Builds a decoder."""

    def __init__(self, heads: int, width: int, state: dict[str, Any], aligned: Sequence[Sequence[int]]) -> None:
        super().__init__(heads, width, state)
        self._aligned: dict[int, list[int]] = {}
        for layer, head in aligned:
            self._aligned.setdefault(layer, []).append(head)
        self._inputs: list[Any] = []
        self._earlier: list[Any] = []
        self._queries: list[Any] = []
        self._tokens = self._input("tokens", [-1, -1], np.int32)
        self._parents = self._input("parents", [-1], np.int32)
        self._mask = op.unsqueeze(self._input("mask", [-1, -1]), [0, 1])

    def _input(self, name: str, shape: list[int], kind: Any = np.float32) -> Any:
        self._inputs.append(named_input(name, shape, kind))
        return self._inputs[-1]

    def model(self, layers: int) -> ov.Model:
        words, scales = in_int8(self.weight("decoder.embed_tokens.weight"))
        x = op.multiply(op.convert(op.gather(words, self._tokens, 0), np.float32), op.gather(scales, self._tokens, 0))
        table = self.weight("decoder.embed_positions.weight")
        x = op.add(x, op.gather(table, self._input("positions", [-1], np.int32), 0))
        for layer in range(layers):
            x = self._layer(x, f"decoder.layers.{layer}", layer)
        last = op.gather(self.norm(x, "decoder.layer_norm"), -1, 1)
        logits = op.matmul(last, dequantised(words, scales), False, True)
        biased = op.add(logits, self._input("bias", [-1]))
        best = op.topk(biased, np.int32(CANDIDATES), -1, "max", "value")
        highest = op.reduce_max(biased, [-1], True)
        rest = op.log(op.reduce_sum(op.exp(op.subtract(biased, highest)), [-1], True))
        outputs = {
            "logits": logits.output(0),
            "scores": best.output(0),
            "candidates": best.output(1),
            "log_sum": op.add(highest, rest).output(0),
            "queries": op.concat(self._queries, 1).output(0),
        }
        return model("decoder", self._inputs, outputs, self._earlier)

    def _layer(self, x: Any, name: str, layer: int) -> Any:
        """Self-attention, attention to the encoder's output, and feed-forward."""
        inner = self.norm(x, f"{name}.self_attn_layer_norm")
        query, key, value = (self.split(self.linear(inner, f"{name}.self_attn.{part}_proj")) for part in "qkv")
        keys, values = self._with_earlier("keys", key, layer), self._with_earlier("values", value, layer)
        attended = op.scaled_dot_product_attention(query, keys, values, self._mask)
        x = op.add(x, self.linear(joined(attended), f"{name}.self_attn.out_proj"))
        inner = self.norm(x, f"{name}.encoder_attn_layer_norm")
        attended = self._cross_attention(self.linear(inner, f"{name}.encoder_attn.q_proj"), layer)
        x = op.add(x, self.linear(attended, f"{name}.encoder_attn.out_proj"))
        inner = self.linear(self.norm(x, f"{name}.final_layer_norm"), f"{name}.fc1")
        return op.add(x, self.linear(op.gelu(inner, "ERF"), f"{name}.fc2"))

    def _with_earlier(self, name: str, new: Any, layer: int) -> Any:
        """The keys or values of the earlier tokens and the ``new`` ones, which become the state."""
        info = VariableInfo()
        info.variable_id = f"{name}.{layer}"
        info.data_shape, info.data_type = ov.PartialShape([-1, self.heads, -1, self.head_width]), ov.Type.f32
        variable = Variable(info)
        rows = op.gather(op.shape_of(self._parents), [0], 0)
        empty = op.concat([rows, np.array([self.heads, 0, self.head_width], np.int64)], 0)
        earlier = op.read_value(op.broadcast(np.float32(0), empty), variable)
        together = op.concat([op.gather(earlier, self._parents, 0), new], 2)
        self._earlier.append(op.assign(together, variable))
        return together

    def _cross_attention(self, query: Any, layer: int) -> Any:
        """Attention of ``query`` [rows, new, width] to the window; its rows read the keys and values together, once."""
        keys = self._input(f"keys.{layer}", [-1, self.heads, -1, self.head_width])
        values = self._input(f"values.{layer}", [-1, self.heads, -1, self.head_width])
        if layer in self._aligned:
            self._queries.append(op.gather(self.split(query), np.array(self._aligned[layer], np.int32), 1))
        windows = op.gather(op.shape_of(keys), [0], 0)
        sizes = np.array([-1, self.heads * self.head_width], np.int64)
        together = self.split(op.reshape(query, op.concat([windows, sizes], 0), False))
        attended = op.scaled_dot_product_attention(together, keys, values, scale=np.float32(1))
        return op.reshape(joined(attended), op.shape_of(query), False)
