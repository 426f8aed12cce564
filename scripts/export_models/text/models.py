"""The embedder and the rerankers as packed ONNX graphs."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import onnx
from onnx import TensorProto, helper

from scripts.export_models.onnx_graph import Graph, Weights
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.text.calibration import Calibration
from scripts.export_models.text.cuda import CudaEncoder
from scripts.export_models.text.encoder import (
    EncoderShape,
    PackedEncoder,
    Packing,
    Precision,
    packing,
    text_inputs,
)
from scripts.export_models.text.int8 import Int8Encoder
from scripts.export_models.text.processor import PaddedBatch, ProcessorEncoder
from scripts.export_models.text.quantise import Rounding, rounded

Pooling = Literal["cls", "mean"]


@dataclass(frozen=True)
class Trained:
    """An encoder's Hugging Face configuration and its weights by name, without the model's prefix.

    ``calibration`` has the inputs of its linear layers, for int8, and ``rounding`` rounds their weights.
    """

    config: Any
    weights: Weights
    calibration: Calibration
    progress: Progress = SILENT
    rounding: Rounding = rounded

    def encoder(self, g: Graph, precision: Precision) -> PackedEncoder:
        """Its packed encoder in that precision."""
        shape = EncoderShape.of(self.config)
        if precision == "int8":
            return Int8Encoder(g, shape, self.weights, self.calibration, self.progress, self.rounding)
        return (CudaEncoder if precision == "fp16" else ProcessorEncoder)(g, shape, self.weights, self.progress)

    def pooled(self, g: Graph, precision: Precision, pooling: Pooling, ids: str, pack: Packing) -> str:
        """One vector per text, FP32 [texts, width]: of its first token, or the mean of its tokens."""
        encoder, first = self.encoder(g, precision), pooling == "cls"
        hidden = encoder.build(ids, pack, first_token_only=first)
        return hidden if first else PaddedBatch.of(g, pack).mean(g, hidden)


@dataclass(frozen=True)
class PairScore:
    """How an encoder without a classification head scores pairs: ``sigmoid(slope * (cosine - middle))``.

    A pair is XLM-R's: the token ``start``, a text, ``separator`` twice, a text, ``separator``.
    """

    slope: float
    middle: float
    start: int
    separator: int

    def of(self, cosine: float) -> float:
        """The score of a cosine."""
        return 1 / (1 + math.exp(-self.slope * (cosine - self.middle)))


def checkpoint_of(model: Any, calibration: Calibration | None = None, progress: Progress = SILENT) -> Trained:
    """Take configuration and weights out of a ``transformers`` model."""
    prefix = f"{model.base_model_prefix}."
    weights = {name.removeprefix(prefix): value.float().numpy() for name, value in model.state_dict().items()}
    return Trained(model.config, weights, calibration or {}, progress)


def packed_inputs(g: Graph) -> tuple[str, Packing]:
    """The token ids, INT64 [tokens], and where the texts lie."""
    ids, lengths = g.cast("input_ids", TensorProto.INT64), g.cast("lengths", TensorProto.INT64)
    return ids, packing(g, lengths, ids)


def normalise(g: Graph, x: str) -> str:
    """Divide each row by its Euclidean length."""
    length = g.op("ReduceL2", x, axes=[-1], keepdims=1)
    return g.op("Div", x, g.op("Max", length, g.constant(1e-12, np.float32)))


def embedder(checkpoint: Trained, precision: Precision, pooling: Pooling, promised: int = 0) -> onnx.ModelProto:
    """``input_ids`` and ``lengths`` to ``embedding`` FP32 [texts, width], L2-normalised, padded to ``promised``."""
    g, width = Graph(), checkpoint.config.hidden_size
    missing = max(0, promised - width)
    vector = normalise(g, checkpoint.pooled(g, precision, pooling, *packed_inputs(g)))
    padded = g.op("Pad", vector, g.constant([0, 0, 0, missing])) if missing else vector
    g.op("Identity", padded, output="embedding")
    output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", width + missing])
    return g.model(text_inputs(), [output])


def reranker(checkpoint: Trained, precision: Precision) -> onnx.ModelProto:
    """``input_ids`` and ``lengths`` of pairs to ``score`` FP32 [pairs], the sigmoid of XLM-R's classification head."""
    g = Graph()
    pooled = checkpoint.pooled(g, precision, "cls", *packed_inputs(g))
    # The head is tiny and decides the order, so it stays in full precision.
    head = checkpoint.encoder(g, "fp32")
    inner = g.op("Tanh", head.linear(pooled, "classifier.dense"))
    return _score_model(g, g.op("Squeeze", head.linear(inner, "classifier.out_proj"), g.constant([1])))


def cosine_reranker(checkpoint: Trained, precision: Precision, pooling: Pooling, score: PairScore) -> onnx.ModelProto:
    """``input_ids`` and ``lengths`` of pairs to ``score`` FP32 [pairs], which grows with the cosine of both texts."""
    g = Graph()
    texts = checkpoint.pooled(g, precision, pooling, *_split_pairs(g, score.start, score.separator))
    pairs = g.op("Reshape", normalise(g, texts), g.constant([-1, 2, checkpoint.config.hidden_size]))
    left, right = g.ops("Split", [pairs], 2, axis=1)
    cosine = g.op("ReduceSum", g.op("Mul", left, right), g.constant([1, 2]), keepdims=0)
    centred = g.op("Sub", cosine, g.constant(score.middle, np.float32))
    return _score_model(g, g.op("Mul", centred, g.constant(score.slope, np.float32)))


def _split_pairs(g: Graph, start: int, separator: int) -> tuple[str, Packing]:
    """Each pair as two texts with ``start`` and ``separator``: the second of two separators becomes the start.

    In a pair without separators the last token is the second text, so no text is empty.
    """
    ids, pack = packed_inputs(g)
    pairs, one = PaddedBatch.of(g, pack), g.constant(1)
    found = g.op("And", pairs.real, g.op("Equal", g.op("Gather", ids, pairs.tokens), g.constant(separator)))
    seen = g.op("CumSum", g.cast(found, TensorProto.INT64), one)
    before = g.op("ReduceSum", g.cast(g.op("Equal", seen, g.constant(0)), TensorProto.INT64), g.constant([1]))
    left = g.op("Min", g.op("Add", before, one), pairs.lengths)
    cut = g.op("Min", left, g.op("Sub", pairs.lengths, one))
    starts = g.op("Unsqueeze", pack.starts, g.constant([1]))
    begins, lengths = (
        g.op("Reshape", g.op("Concat", *sides, axis=1), g.constant([-1]))
        for sides in ((starts, g.op("Add", starts, cut)), (left, g.op("Sub", pairs.lengths, cut)))
    )
    # ``packing`` reads the shape of the tokens alone.
    split = packing(g, lengths, g.op("ConstantOfShape", g.op("ReduceSum", lengths)))
    tokens = g.op("Gather", ids, g.op("Add", g.op("Gather", begins, split.text_of), split.positions))
    return g.op("Where", g.op("Equal", split.positions, g.constant(0)), g.constant(start), tokens), split


def _score_model(g: Graph, logits: str) -> onnx.ModelProto:
    """The finished model from its ``logits`` FP32 [pairs]."""
    g.op("Sigmoid", logits, output="score")
    return g.model(text_inputs(), [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["texts"])])
