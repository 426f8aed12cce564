"""BERT and XLM-RoBERTa encoders as packed graphs: the texts of a batch lie end to end.

The graph reads ``input_ids`` INT32 [tokens] and ``lengths`` INT32 [texts]. Everything but attention works on
[tokens, width]; attention is what processors and CUDA have different forms of.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from scripts.export_models.graphs.builder import MICROSOFT, Graph
from scripts.export_models.graphs.linear import Linear, Weights
from scripts.export_models.progress import SILENT, Progress

# fp16 is for CUDA; the others are for processors, on which bf16 is fp32's graph, computed in less.
Precision = Literal["fp32", "bf16", "int8", "fp16"]


@dataclass(frozen=True)
class EncoderShape:
    """What of a Hugging Face configuration the graph needs."""

    layers: int
    heads: int
    width: int
    epsilon: float
    first_position: int

    @classmethod
    def of(cls, config: Any) -> "EncoderShape":
        """From a ``BertConfig`` or ``XLMRobertaConfig``; XLM-R counts positions from pad id + 1."""
        if config.model_type not in ("bert", "xlm-roberta"):
            raise ValueError(f"no packed graph for a model of type {config.model_type!r}")
        # transformers 5 knows absolute positions alone, and does not name them.
        if config.hidden_act != "gelu" or getattr(config, "position_embedding_type", "absolute") != "absolute":
            raise ValueError("only gelu and absolute positions are known")
        first = config.pad_token_id + 1 if config.model_type == "xlm-roberta" else 0
        return cls(
            layers=config.num_hidden_layers,
            heads=config.num_attention_heads,
            width=config.hidden_size,
            epsilon=config.layer_norm_eps,
            first_position=first,
        )


@dataclass(frozen=True)
class Packing:
    """Where the texts lie, as INT64 tensors: ``lengths`` and ``starts`` [texts], ``text_of`` and ``place`` [tokens].

    What was one text may be so many ``segments``, which lie in turn, each with a length of its own.
    """

    lengths: str
    starts: str
    text_of: str
    place: str
    total: str
    segments: int


def packing(g: Graph, lengths: str, tokens: str, segments: int = 1) -> Packing:
    """Derive starts, and for each token its text and its place in it. ``lengths`` INT64, ``tokens`` any [tokens]."""
    ends = g.op("CumSum", lengths, g.constant(0))
    starts = g.op("Sub", ends, lengths)
    total = g.op("Shape", tokens)
    text_of = g.running_index(starts, total)
    count = g.op("Squeeze", total)
    every = g.op("Range", g.constant(0), count, g.constant(1))
    place = g.op("Sub", every, g.op("Gather", starts, text_of))
    return Packing(lengths, starts, text_of, place, total, segments)


def query_key_value(layer: str) -> list[str]:
    """The names of the three linear layers that a layer's attention begins with."""
    return [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]


class PackedEncoder(ABC):
    """Builds one encoder into a graph from the state dict of its Hugging Face model."""

    _float: type[np.floating[Any]] = np.float32

    def __init__(self, g: Graph, shape: EncoderShape, weights: Weights, progress: Progress = SILENT) -> None:
        self._g, self._shape, self._weights, self._progress = g, shape, weights, progress

    def _layer_of(self, name: str) -> Linear:
        return Linear(self._weights[f"{name}.weight"].T, self._weights[f"{name}.bias"])

    def linear(self, x: str, *names: str) -> str:
        """One matrix product for the layers ``names`` side by side, with their biases."""
        layer = Linear.joined([self._layer_of(name) for name in names])
        weights = (array.astype(self._float, copy=False) for array in (layer.weight.T, layer.bias))
        return self._g.op("Gemm", x, *(self._g.weight(array, "linear") for array in weights), transB=1)

    def _norm(self, x: str, name: str) -> str:
        return self._normalised(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _normalised(self, x: str, scale: NDArray[np.float32], shift: NDArray[np.float32]) -> str:
        weights = (self._g.weight(array.astype(self._float, copy=False), "norm") for array in (scale, shift))
        return self._g.op("LayerNormalization", x, *weights, axis=-1, epsilon=self._shape.epsilon)

    def _embed(self, ids: str, place: str) -> str:
        g, shape, w = self._g, self._shape, self._weights
        table = w["embeddings.position_embeddings.weight"][shape.first_position :]
        positions = table + w["embeddings.token_type_embeddings.weight"][0]
        words = g.weight(w["embeddings.word_embeddings.weight"].astype(self._float, copy=False), "words")
        # A text longer than the positions that were trained starts over with the first one.
        wrapped = g.op("Mod", place, g.constant(len(table)))
        where = g.op("Gather", g.weight(positions.astype(self._float, copy=False), "positions"), wrapped)
        return g.op("Add", g.op("Gather", words, ids), where)

    def build(self, ids: str, pack: Packing, *, first_token_only: bool) -> str:
        """The last hidden states [tokens, width], or [texts, width] of the first tokens alone."""
        x, norm = self._embed(ids, pack.place), "embeddings.LayerNorm"
        for layer in self._progress.over(range(self._shape.layers), "building layers"):
            name = f"encoder.layer.{layer}"
            last = first_token_only and layer == self._shape.layers - 1
            x, norm = self._layer(x, norm, name, pack, pack.starts if last else ""), f"{name}.output.LayerNorm"
        return self._norm(x, norm)

    def _layer(self, x: str, norm: str, name: str, pack: Packing, rows: str) -> str:
        """One layer, from the sum that ``norm`` is yet to normalise to the next such sum; of ``rows`` alone, if given.

        What is handed on is not normalised, since int8 normalises it twice, in two ways.
        """
        g = self._g
        x = self._norm(x, norm)
        attended = self._attend(self._query_key_value(x, name), pack)
        if rows:
            attended, x = g.op("Gather", attended, rows), g.op("Gather", x, rows)
        dense = self.linear(attended, f"{name}.attention.output.dense")
        x = self._norm(g.op("Add", dense, x), f"{name}.attention.output.LayerNorm")
        inner = g.op("Gelu", self.linear(x, f"{name}.intermediate.dense"), domain=MICROSOFT)
        return g.op("Add", self.linear(inner, f"{name}.output.dense"), x)

    def _query_key_value(self, x: str, layer: str) -> list[str]:
        """What attention is given, each [tokens, width]."""
        return self._g.ops("Split", [self.linear(x, *query_key_value(layer))], 3, axis=1)

    @abstractmethod
    def _attend(self, given: list[str], pack: Packing) -> str:
        """Attention of each text by itself, [tokens, width], from queries, keys and values."""

    def mean(self, hidden: str, pack: Packing) -> str:
        """The mean of each text's tokens, [tokens, width] to FP32 [texts, width].

        By a product with which token is whose: the sums of all texts in one go.
        """
        g = self._g
        texts = g.op("Range", g.constant(0), g.op("Squeeze", g.op("Shape", pack.lengths)), g.constant(1))
        own = g.op("Equal", g.op("Unsqueeze", texts, g.constant([1])), g.op("Unsqueeze", pack.text_of, g.constant([0])))
        total = g.op("MatMul", g.cast(own, TensorProto.FLOAT), g.cast(hidden, TensorProto.FLOAT))
        return g.op("Div", total, g.op("Unsqueeze", g.cast(pack.lengths, TensorProto.FLOAT), g.constant([1])))


def normalise(g: Graph, x: str) -> str:
    """Divide each row by its Euclidean length."""
    length = g.op("ReduceL2", x, axes=[-1], keepdims=1)
    return g.op("Div", x, g.op("Max", length, g.constant(1e-12, np.float32)))


def text_inputs() -> list[onnx.ValueInfoProto]:
    """The two ragged inputs that every text model has."""
    return [
        helper.make_tensor_value_info("input_ids", TensorProto.INT32, ["tokens"]),
        helper.make_tensor_value_info("lengths", TensorProto.INT32, ["texts"]),
    ]
