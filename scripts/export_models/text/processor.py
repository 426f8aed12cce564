"""The packed encoder for processors, on which OpenVINO computes it, a block of texts of like lengths at a time."""

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from scripts.export_models.graphs.builder import Graph
from scripts.export_models.text.encoder import PackedEncoder, Packing, query_key_value

# Added to a score, it leaves nothing of it.
_NEVER = -1e9
# The most numbers in float32 that a processor computes at once.
_VECTOR = 16


@dataclass(frozen=True)
class _PaddedBatch:
    """One segment of each text, a row each, padded to the ``longest`` INT64 []: the ``token`` at each place, whether it
    is ``real``, both [texts, longest], and the ``mask`` of the others [texts, 1, 1, longest].
    """

    lengths: str
    longest: str
    token: str
    real: str
    mask: str

    @classmethod
    def of(cls, g: Graph, pack: Packing, segment: int) -> "_PaddedBatch":
        every = [g.constant([number]) for number in (segment, np.iinfo(np.int64).max, 0, pack.segments)]
        starts, lengths = (
            g.op("Unsqueeze", g.op("Slice", each, *every), g.constant([1])) for each in (pack.starts, pack.lengths)
        )
        longest = cls._rounded_up(g, g.op("ReduceMax", lengths, keepdims=0))
        columns = g.op("Range", g.constant(0), longest, g.constant(1))
        last = g.op("Sub", pack.total, g.constant(1))
        token = g.op("Min", g.op("Add", starts, columns), last)
        real = g.op("Less", columns, lengths)
        masked = g.op("Where", real, g.constant(0, np.float32), g.constant(_NEVER, np.float32))
        return cls(lengths, longest, token, real, g.op("Unsqueeze", masked, g.constant([1, 2])))

    @staticmethod
    def _rounded_up(g: Graph, places: str) -> str:
        """To whole vectors: OpenVINO sums what is left behind them in another order, and so another text's length would
        show in the last digits.
        """
        vector = g.constant(_VECTOR)
        return g.op("Mul", g.op("Div", g.op("Add", places, g.constant(_VECTOR - 1)), vector), vector)

    def mean(self, g: Graph, hidden: str) -> str:
        """Of each text's rows of ``hidden`` [tokens, width], FP32 [texts, width]."""
        real = g.op("Unsqueeze", g.cast(self.real, TensorProto.FLOAT), g.constant([2]))
        total = g.op("ReduceSum", g.op("Mul", g.op("Gather", hidden, self.token), real), g.constant([1]), keepdims=0)
        return g.op("Div", total, g.cast(self.lengths, TensorProto.FLOAT))


class ProcessorEncoder(PackedEncoder):
    """In fp32, or whatever it is computed in. For attention the texts of each segment lie on a batch."""

    def build(self, ids: str, pack: Packing, *, first_token_only: bool) -> str:
        self._lay_out(pack)
        hidden = super().build(ids, pack, first_token_only=first_token_only)
        if not first_token_only:
            return hidden
        # OpenVINO computes in float32 whatever reaches the output past no matrix product, and all sums between layers
        # would: this product changes none of the numbers.
        return self._g.op("MatMul", hidden, self._g.weight(np.eye(self._shape.width, dtype=np.float32), "same"))

    def _lay_out(self, pack: Packing) -> None:
        """The padded batches, and each token's position in them, one batch behind the other."""
        g = self._g
        self._batches = [_PaddedBatch.of(g, pack, segment) for segment in range(pack.segments)]
        segments = g.constant(pack.segments)
        segment, row = g.op("Mod", pack.text_of, segments), g.op("Div", pack.text_of, segments)
        first = g.constant([0])
        longest = g.op("Concat", *(g.op("Unsqueeze", batch.longest, first) for batch in self._batches), axis=0)
        sizes = (g.op("Unsqueeze", g.op("Size", batch.token), first) for batch in self._batches)
        together = g.op("Concat", *sizes, axis=0)
        before = g.op("Gather", g.op("CumSum", together, g.constant(0), exclusive=1), segment)
        in_its_row = g.op("Add", g.op("Mul", row, g.op("Gather", longest, segment)), pack.place)
        self._positions = g.op("Add", before, in_its_row)

    def _query_key_value(self, x: str, layer: str) -> list[str]:
        # Three products, since what is cut out of one would be copied.
        return [self.linear(x, name) for name in query_key_value(layer)]

    def _attend(self, given: list[str], pack: Packing) -> str:
        g = self._g
        rows = [self._attend_in(batch, given) for batch in self._batches]
        return g.op("Gather", g.op("Concat", *rows, axis=0) if len(rows) > 1 else rows[0], self._positions)

    def _attend_in(self, batch: _PaddedBatch, given: list[str]) -> str:
        """A row for each place of a batch."""
        g, width, heads = self._g, self._shape.width, self._shape.heads
        shape = g.constant([0, 0, heads, width // heads])
        padded = (g.op("Reshape", g.op("Gather", each, batch.token), shape) for each in given)
        q, k, v = (g.op("Transpose", each, perm=[0, 2, 1, 3]) for each in padded)
        scaled = g.op("Mul", q, g.constant((width // heads) ** -0.5, np.float32))
        scores = g.op("MatMul", scaled, g.op("Transpose", k, perm=[0, 1, 3, 2]))
        attended = g.op("MatMul", g.op("Softmax", g.op("Add", scores, batch.mask), axis=-1), v)
        return g.op("Reshape", g.op("Transpose", attended, perm=[0, 2, 1, 3]), g.constant([-1, width]))

    def mean(self, hidden: str, pack: Packing) -> str:
        g, axis = self._g, self._g.constant([1])
        means = g.op("Concat", *(g.op("Unsqueeze", batch.mean(g, hidden), axis) for batch in self._batches), axis=1)
        return g.op("Reshape", means, g.constant([-1, self._shape.width]))
