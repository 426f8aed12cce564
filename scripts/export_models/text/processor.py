"""The packed encoder for processors, where OpenVINO computes it, one block of texts of similar lengths at a time."""

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from scripts.export_models.onnx_graph import Graph
from scripts.export_models.text.encoder import PackedEncoder, Packing, query_key_value

# Added to a score of attention, it makes the weight zero.
MASKED = -1e9
# Float32 numbers in the widest vector of a processor.
_VECTOR = 16


@dataclass(frozen=True)
class PaddedBatch:
    """The texts as rows that are padded to ``longest``, INT64 [].

    ``tokens`` INT64 [texts, longest] has the packed index of each token, and any index for padding. ``real`` BOOL
    [texts, longest] is false for padding. ``lengths`` is INT64 [texts, 1].
    """

    lengths: str
    longest: str
    tokens: str
    real: str

    @classmethod
    def of(cls, g: Graph, pack: Packing) -> "PaddedBatch":
        starts, lengths = (g.op("Unsqueeze", each, g.constant([1])) for each in (pack.starts, pack.lengths))
        # OpenVINO sums the rest behind the last whole vector in another order, so without rounding up, the length of
        # another text would change the last digits.
        vectors = g.op("Add", g.op("ReduceMax", lengths, keepdims=0), g.constant(_VECTOR - 1))
        longest = g.op("Mul", g.op("Div", vectors, g.constant(_VECTOR)), g.constant(_VECTOR))
        columns = g.op("Range", g.constant(0), longest, g.constant(1))
        last = g.op("Sub", pack.total, g.constant(1))
        tokens = g.op("Min", g.op("Add", starts, columns), last)
        return cls(lengths, longest, tokens, g.op("Less", columns, lengths))

    def mean(self, g: Graph, hidden: str) -> str:
        """The mean of each text's rows of ``hidden`` FP32 [tokens, width], FP32 [texts, width]."""
        real = g.op("Unsqueeze", g.cast(self.real, TensorProto.FLOAT), g.constant([2]))
        total = g.op("ReduceSum", g.op("Mul", g.op("Gather", hidden, self.tokens), real), g.constant([1]), keepdims=0)
        return g.op("Div", total, g.cast(self.lengths, TensorProto.FLOAT))


class ProcessorEncoder(PackedEncoder):
    """In fp32 or bf16. Only attention computes on padded texts."""

    def build(self, ids: str, pack: Packing, *, first_token_only: bool) -> str:
        g = self._g
        self._batch = PaddedBatch.of(g, pack)
        self._rows = g.op("Add", g.op("Mul", pack.text_of, self._batch.longest), pack.positions)
        masked = g.op("Where", self._batch.real, g.constant(0, np.float32), g.constant(MASKED, np.float32))
        self._mask = g.op("Unsqueeze", masked, g.constant([1, 2]))
        hidden = super().build(ids, pack, first_token_only=first_token_only)
        if not first_token_only:
            return hidden
        # OpenVINO computes in float32 what reaches the output without another matrix product, and that would be all
        # sums between layers. A product with the identity keeps them in bfloat16.
        return g.op("MatMul", hidden, g.weight(np.eye(self._shape.width, dtype=np.float32), "identity"))

    def _query_key_value(self, x: str, layer: str) -> list[str]:
        # Three products, because OpenVINO would copy the parts of one.
        return [self.linear(x, name) for name in query_key_value(layer)]

    def _attend(self, query_key_value: list[str], pack: Packing) -> str:
        g, width, heads = self._g, self._shape.width, self._shape.heads
        shape = g.constant([0, 0, heads, width // heads])
        padded = (g.op("Reshape", g.op("Gather", each, self._batch.tokens), shape) for each in query_key_value)
        q, k, v = (g.op("Transpose", each, perm=[0, 2, 1, 3]) for each in padded)
        scaled = g.op("Mul", q, g.constant((width // heads) ** -0.5, np.float32))
        scores = g.op("MatMul", scaled, g.op("Transpose", k, perm=[0, 1, 3, 2]))
        attended = g.op("MatMul", g.op("Softmax", g.op("Add", scores, self._mask), axis=-1), v)
        rows = g.op("Reshape", g.op("Transpose", attended, perm=[0, 2, 1, 3]), g.constant([-1, width]))
        return g.op("Gather", rows, self._rows)
