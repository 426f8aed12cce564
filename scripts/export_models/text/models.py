"""The embedder and the reranker as packed ONNX graphs."""

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
    packing,
    text_inputs,
)
from scripts.export_models.text.int8 import Int8Encoder
from scripts.export_models.text.processor import PaddedBatch, ProcessorEncoder

Pooling = Literal["cls", "mean"]


@dataclass(frozen=True)
class Trained:
    """An encoder's Hugging Face configuration and its weights by name, without the model's prefix.

    ``calibration`` has the inputs of its linear layers, for int8.
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

    def pooled(self, g: Graph, precision: Precision, pooling: Pooling, ids: str, pack: Packing) -> str:
        """One vector per text, FP32 [texts, width]: of its first token, or the mean of its tokens."""
        encoder, first = self.encoder(g, precision), pooling == "cls"
        hidden = encoder.build(ids, pack, first_token_only=first)
        return hidden if first else PaddedBatch.of(g, pack).mean(g, hidden)


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
    return score_model(g, g.op("Squeeze", head.linear(inner, "classifier.out_proj"), g.constant([1])))


def score_model(g: Graph, logits: str) -> onnx.ModelProto:
    """The finished model from its ``logits`` FP32 [pairs]."""
    g.op("Sigmoid", logits, output="score")
    return g.model(text_inputs(), [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["texts"])])
