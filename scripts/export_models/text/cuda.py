"""The packed encoder for CUDA: fp16, and attention as one PackedMultiHeadAttention, since a Loop would synchronise."""

import numpy as np
from onnx import TensorProto

from scripts.export_models.graphs.builder import MICROSOFT
from scripts.export_models.text.encoder import PackedEncoder, Packing


class CudaEncoder(PackedEncoder):
    """Runs on CUDA alone: the CPU has no PackedMultiHeadAttention."""

    _float = np.float16

    def build(self, ids: str, pack: Packing, *, first_token_only: bool) -> str:
        self._lay_out(pack)
        return self._g.cast(super().build(ids, pack, first_token_only=first_token_only), TensorProto.FLOAT)

    def _lay_out(self, pack: Packing) -> None:
        """What PackedMultiHeadAttention wants: each token's slot in the padded block, and running lengths.

        All in INT32: the block has a cell for each text and each token of the longest.
        """
        g = self._g
        lengths, text_of, place = (g.cast(each, TensorProto.INT32) for each in (pack.lengths, pack.text_of, pack.place))
        zero, one = g.constant(0, np.int32), g.constant(1, np.int32)
        longest = g.op("ReduceMax", lengths, keepdims=1)
        slots = g.op("Add", g.op("Mul", text_of, longest), place)
        block = g.op("Mul", g.cast(g.op("Shape", lengths), TensorProto.INT32), longest)
        every = g.op("Range", zero, g.op("Squeeze", block), one)
        owner_length = g.op("Gather", lengths, g.op("Div", every, longest))
        padding = g.op("Compress", every, g.op("GreaterOrEqual", g.op("Mod", every, longest), owner_length), axis=0)
        shape = g.op("Concat", g.op("Shape", lengths), g.cast(longest, TensorProto.INT64), axis=0)
        self._token_offset = g.op("Reshape", g.op("Concat", slots, padding, axis=0), shape)
        ends = g.op("CumSum", lengths, g.constant(0))
        self._running = g.op("Concat", g.constant([0], np.int32), ends, axis=0)

    def _attend(self, given: list[str], pack: Packing) -> str:
        inputs = (*given, "", self._token_offset, self._running)
        return self._g.op("PackedMultiHeadAttention", *inputs, domain=MICROSOFT, num_heads=self._shape.heads)
