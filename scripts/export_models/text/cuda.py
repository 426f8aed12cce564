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
        """What PackedMultiHeadAttention wants: each token's slot in the padded block, and running lengths."""
        g = self._g
        longest = g.op("ReduceMax", pack.lengths, keepdims=1)
        slots = g.op("Add", g.op("Mul", pack.text_of, longest), pack.place)
        block = g.op("Mul", g.op("Shape", pack.lengths), longest)
        every = g.op("Range", g.constant(0), g.op("Squeeze", block), g.constant(1))
        place = g.op("Mod", every, longest)
        owner_length = g.op("Gather", pack.lengths, g.op("Div", every, longest))
        padding = g.op("Compress", every, g.op("GreaterOrEqual", place, owner_length), axis=0)
        shape = g.op("Concat", g.op("Shape", pack.lengths), longest, axis=0)
        offsets = g.op("Reshape", g.op("Concat", slots, padding, axis=0), shape)
        ends = g.op("CumSum", pack.lengths, g.constant(0))
        self._token_offset = g.cast(offsets, TensorProto.INT32)
        self._running = g.cast(g.op("Concat", g.constant([0]), ends, axis=0), TensorProto.INT32)

    def _attend(self, qkv: str, pack: Packing) -> str:
        g = self._g
        q, k, v = g.ops("Split", [qkv], 3, axis=1)
        inputs = (q, k, v, "", self._token_offset, self._running)
        return g.op("PackedMultiHeadAttention", *inputs, domain=MICROSOFT, num_heads=self._shape.heads)
