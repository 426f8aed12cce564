"""The encoder as others serve it: a block as long as the longest text, the rest of it padding.

Everything but the layout is the packed graph's: the same weights, kernels and last layer. Attention is ONNX Runtime's
own with a mask: on CUDA the form of it that has a memory-efficient kernel (a length and two starts for each text).
"""

import onnx
from onnx import TensorProto, helper

from scripts.export_models.graphs.builder import MICROSOFT, Graph
from scripts.export_models.text.cuda import CudaEncoder
from scripts.export_models.text.encoder import EncoderShape, PackedEncoder, Packing, normalise, packing, text_inputs
from scripts.export_models.text.models import Trained


class PaddedEncoder(PackedEncoder):
    """Texts of equal length, of which ``lengths`` INT64 [texts] count; ``longest`` INT64 [1]."""

    def __init__(self, g: Graph, shape: EncoderShape, its: Trained, lengths: str, longest: str, *, half: bool) -> None:
        super().__init__(g, shape, its.weights)
        self._float = CudaEncoder._float if half else PackedEncoder._float
        self._block = g.op("Concat", g.op("Shape", lengths), longest, g.constant([shape.width]), axis=0)
        mask = _starts_mask(g, lengths, longest) if half else _places_mask(g, lengths, longest)
        self._mask = g.cast(mask, TensorProto.INT32)

    def _attend(self, given: list[str], pack: Packing) -> str:
        g = self._g
        padded = (g.op("Reshape", each, self._block) for each in given)
        attended = g.op("MultiHeadAttention", *padded, "", self._mask, domain=MICROSOFT, num_heads=self._shape.heads)
        return g.op("Reshape", attended, g.constant([-1, self._shape.width]))


def _starts_mask(g: Graph, lengths: str, longest: str) -> str:
    """The length of each text, and twice where each begins and the last ends: [3 * texts + 2]."""
    last = g.op("Add", g.op("Squeeze", g.op("Shape", lengths)), g.constant(1))
    starts = g.op("Mul", g.op("Range", g.constant(0), last, g.constant(1)), longest)
    return g.op("Concat", lengths, starts, starts, axis=0)


def _places_mask(g: Graph, lengths: str, longest: str) -> str:
    """Whether there is a token at each place of each text: [texts, longest]."""
    places = g.op("Range", g.constant(0), g.op("Squeeze", longest), g.constant(1))
    return g.op("Less", places, g.op("Unsqueeze", lengths, g.constant([1])))


def embedder(checkpoint: Trained, *, half: bool) -> onnx.ModelProto:
    """``input_ids`` [texts, longest], ``lengths`` [texts] to ``embedding`` FP32 [texts, width], L2-normalised."""
    g, width = Graph(), checkpoint.config.hidden_size
    ids, lengths = g.cast("input_ids", TensorProto.INT64), g.cast("lengths", TensorProto.INT64)
    longest = g.size(ids, 1)
    flat = g.op("Reshape", ids, g.constant([-1]))
    pack = packing(g, g.op("Expand", longest, g.op("Shape", lengths)), flat)
    shape = EncoderShape.of(checkpoint.config)
    encoder = PaddedEncoder(g, shape, checkpoint, lengths, longest, half=half)
    hidden = g.cast(encoder.build(flat, pack, first_token_only=True), TensorProto.FLOAT)
    g.op("Identity", normalise(g, hidden), output="embedding")
    block = helper.make_tensor_value_info("input_ids", TensorProto.INT32, ["texts", "longest"])
    output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", width])
    return g.model([block, text_inputs()[1]], [output])
