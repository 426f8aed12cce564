"""The embedder and the reranker as packed ONNX graphs, and the demo's stand-ins for both."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import onnx
from onnx import TensorProto, helper

from scripts.export_models.graphs.builder import Graph
from scripts.export_models.graphs.linear import Weights
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.text.calibration import Calibration
from scripts.export_models.text.cuda import CudaEncoder
from scripts.export_models.text.encoder import (
    EncoderShape,
    PackedEncoder,
    Packing,
    Precision,
    normalise,
    packing,
    text_inputs,
)
from scripts.export_models.text.int8 import Int8Encoder
from scripts.export_models.text.processor import ProcessorEncoder

# Cosine of all-MiniLM-L6-v2 to a score: unrelated pairs lie near 0.05, good answers above 0.5.
_DEMO_SLOPE, _DEMO_MIDDLE = 12.0, 0.35

Pooling = Literal["cls", "mean"]


@dataclass(frozen=True)
class Trained:
    """An encoder's Hugging Face configuration, its weights by name, without the model's prefix, and for int8 what its
    layers are given.
    """

    config: Any
    weights: Weights
    calibration: Calibration
    progress: Progress = SILENT

    def encoder(self, g: Graph, precision: Precision) -> PackedEncoder:
        """Its packed encoder in that precision."""
        shape = EncoderShape.of(self.config)
        if precision == "int8":
            return Int8Encoder(g, shape, self.weights, self.calibration, self.progress)
        return (CudaEncoder if precision == "fp16" else ProcessorEncoder)(g, shape, self.weights, self.progress)


def checkpoint_of(model: Any, calibration: Calibration | None = None, progress: Progress = SILENT) -> Trained:
    """Take configuration and weights out of a ``transformers`` model."""
    prefix = f"{model.base_model_prefix}."
    weights = {name.removeprefix(prefix): value.float().numpy() for name, value in model.state_dict().items()}
    return Trained(model.config, weights, calibration or {}, progress)


def _inputs(g: Graph) -> tuple[str, str]:
    """Token ids [tokens] and lengths [texts], INT64."""
    return g.cast("input_ids", TensorProto.INT64), g.cast("lengths", TensorProto.INT64)


def _pooled(g: Graph, checkpoint: Trained, precision: Precision, pooling: Pooling, ids: str, pack: Packing) -> str:
    encoder, first = checkpoint.encoder(g, precision), pooling == "cls"
    hidden = encoder.build(ids, pack, first_token_only=first)
    return hidden if first else encoder.mean(hidden, pack)


def embedder(checkpoint: Trained, precision: Precision, pooling: Pooling, promised: int = 0) -> onnx.ModelProto:
    """``input_ids``, ``lengths`` to ``embedding`` FP32 [texts, width], L2-normalised, padded to ``promised``."""
    g, width = Graph(), checkpoint.config.hidden_size
    missing = max(0, promised - width)
    ids, lengths = _inputs(g)
    vector = normalise(g, _pooled(g, checkpoint, precision, pooling, ids, packing(g, lengths, ids)))
    padded = g.op("Pad", vector, g.constant([0, 0, 0, missing])) if missing else vector
    g.op("Identity", padded, output="embedding")
    output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", width + missing])
    return g.model(text_inputs(), [output])


def _score_model(g: Graph, logits: str) -> onnx.ModelProto:
    g.op("Sigmoid", logits, output="score")
    return g.model(text_inputs(), [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["texts"])])


def reranker(checkpoint: Trained, precision: Precision) -> onnx.ModelProto:
    """``input_ids``, ``lengths`` of pairs to ``score`` FP32 [pairs], the sigmoid of XLM-R's classification head."""

    g = Graph()
    ids, lengths = _inputs(g)
    pooled = _pooled(g, checkpoint, precision, "cls", ids, packing(g, lengths, ids))
    # The head is tiny beside the encoder and decides the order: it stays in full precision.
    head = checkpoint.encoder(g, "fp32")
    inner = g.op("Tanh", head.linear(pooled, "classifier.dense"))
    return _score_model(g, g.op("Squeeze", head.linear(inner, "classifier.out_proj"), g.constant([1])))


def _split_pairs(g: Graph, ids: str, pack: Packing, start_id: int, separator_id: int) -> tuple[str, Packing]:
    """Make ``[CLS] a [SEP] b [SEP]`` into the two texts ``[CLS] a [SEP]`` and ``[CLS] b [SEP]``.

    The first separator of a pair is taken twice; its copy becomes the start token of the second text. What ends with no
    separator ends all the same.
    """
    ends_here = g.op("Equal", g.op("Add", pack.place, g.constant(1)), g.op("Gather", pack.lengths, pack.text_of))
    found = (g.op("Equal", ids, g.constant(separator_id)), ends_here)
    separator = g.op("Max", *(g.cast(each, TensorProto.INT64) for each in found))
    before = g.op("CumSum", separator, g.constant(0), exclusive=1)
    seen = g.op("Sub", before, g.op("Gather", g.op("Gather", before, pack.starts), pack.text_of))
    first = g.op("Mul", separator, g.cast(g.op("Equal", seen, g.constant(0)), TensorProto.INT64))
    copies = g.op("Add", first, g.constant(1))
    ends = g.op("CumSum", copies, g.constant(0))
    total = g.op("Gather", ends, g.constant([-1]))
    source = g.running_index(g.op("Sub", ends, copies), total)
    previous = g.op("Concat", g.constant([-1]), g.op("Slice", source, g.constant([0]), g.constant([-1])), axis=0)
    is_copy = g.op("Equal", source, previous)
    both = g.op("Where", is_copy, g.constant(start_id), g.op("Gather", ids, source))
    cut = g.op("Compress", pack.place, g.cast(first, TensorProto.BOOL), axis=0)
    left = g.op("Add", cut, g.constant(1))
    right = g.op("Sub", pack.lengths, cut)
    columns = [g.op("Unsqueeze", side, g.constant([1])) for side in (left, right)]
    lengths = g.op("Reshape", g.op("Concat", *columns, axis=1), g.constant([-1]))
    return both, packing(g, lengths, both, segments=2)


def demo_score(cosine: float) -> float:
    """The demo reranker's score of a cosine, as the graph computes it."""
    return 1 / (1 + math.exp(-_DEMO_SLOPE * (cosine - _DEMO_MIDDLE)))


def demo_reranker(checkpoint: Trained, start_id: int, separator_id: int, precision: Precision) -> onnx.ModelProto:
    """A reranker made of an embedder: the cosine of a pair's two halves, as a score between 0 and 1."""

    g, width = Graph(), checkpoint.config.hidden_size
    ids, lengths = _inputs(g)
    both, halves = _split_pairs(g, ids, packing(g, lengths, ids), start_id, separator_id)
    pooled = _pooled(g, checkpoint, precision, "mean", both, halves)
    pairs = g.op("Reshape", normalise(g, pooled), g.constant([-1, 2, width]))
    left, right = g.ops("Split", [pairs], 2, axis=1)
    cosine = g.op("ReduceSum", g.op("Mul", left, right), g.constant([1, 2]), keepdims=0)
    shifted = g.op("Sub", cosine, g.constant(_DEMO_MIDDLE, np.float32))
    return _score_model(g, g.op("Mul", shifted, g.constant(_DEMO_SLOPE, np.float32)))
