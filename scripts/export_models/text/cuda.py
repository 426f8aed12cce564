"""The packed encoder for CUDA, in fp16. Attention is one PackedMultiHeadAttention, which only CUDA has."""

import numpy as np
from onnx import TensorProto

from scripts.export_models.onnx_graph import MICROSOFT
from scripts.export_models.text.encoder import PackedEncoder, Packing


class CudaEncoder(PackedEncoder):
    """In fp16."""

    _float = np.float16

    def build(self, ids: str, pack: Packing, *, first_token_only: bool) -> str:
        self._lay_out(pack)
        return self._g.cast(super().build(ids, pack, first_token_only=first_token_only), TensorProto.FLOAT)

    def _lay_out(self, pack: Packing) -> None:
        """The last two inputs of PackedMultiHeadAttention, both INT32.

        ``_token_offset`` [texts, longest] has the index of each real token in the padded batch, then those of the
        padding. ``_cumulative_lengths`` [texts + 1] begins with 0.
        """
        g = self._g
        lengths, text_of, positions = (
            g.cast(each, TensorProto.INT32) for each in (pack.lengths, pack.text_of, pack.positions)
        )
        zero, one = g.constant(0, np.int32), g.constant(1, np.int32)
        longest = g.op("ReduceMax", lengths, keepdims=1)
        real = g.op("Add", g.op("Mul", text_of, longest), positions)
        size = g.op("Mul", g.cast(g.op("Shape", lengths), TensorProto.INT32), longest)
        every = g.op("Range", zero, g.op("Squeeze", size), one)
        length = g.op("Gather", lengths, g.op("Div", every, longest))
        padding = g.op("Compress", every, g.op("GreaterOrEqual", g.op("Mod", every, longest), length), axis=0)
        shape = g.op("Concat", g.op("Shape", lengths), g.cast(longest, TensorProto.INT64), axis=0)
        self._token_offset = g.op("Reshape", g.op("Concat", real, padding, axis=0), shape)
        ends = g.op("CumSum", lengths, g.constant(0))
        self._cumulative_lengths = g.op("Concat", g.constant([0], np.int32), ends, axis=0)

    def _attend(self, query_key_value: list[str], pack: Packing) -> str:
        inputs = (*query_key_value, "", self._token_offset, self._cumulative_lengths)
        return self._g.op("PackedMultiHeadAttention", *inputs, domain=MICROSOFT, num_heads=self._shape.heads)
