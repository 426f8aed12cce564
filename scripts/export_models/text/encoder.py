"""BERT and XLM-RoBERTa encoders as packed ONNX graphs: the texts of a batch lie end to end, without padding.

A graph reads ``input_ids`` INT32 [tokens] and ``lengths`` INT32 [texts]. Everything but attention computes on
[tokens, width]. Processors and CUDA have different forms of attention.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from scripts.export_models.onnx_graph import MICROSOFT, Graph, Linear, Weights
from scripts.export_models.progress import SILENT, Progress

# fp16 is for CUDA, the others are for processors; bf16 is the graph of fp32, computed in bfloat16.
Precision = Literal["fp32", "bf16", "int8", "fp16"]


@dataclass(frozen=True)
class EncoderShape:
    """The numbers of a Hugging Face configuration that the graph needs."""

    layers: int
    heads: int
    width: int
    epsilon: float
    first_position: int

    @classmethod
    def of(cls, config: Any) -> "EncoderShape":
        """From a ``BertConfig`` or an ``XLMRobertaConfig``; raises ``ValueError`` for one that the graph cannot follow.

        XLM-R counts positions from its padding token's id + 1.
        """
        if config.model_type not in ("bert", "xlm-roberta"):
            raise ValueError(f"no packed graph for a model of type {config.model_type!r}")
        # transformers 5 has only absolute positions, without a name.
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
    """Where the texts lie, as INT64 tensors.

    ``lengths`` and ``starts`` (the first token of each text) are [texts]; ``text_of`` (the text of each token) and
    ``positions`` (of each token within its text) are [tokens]; ``total``, the number of tokens, is [1].
    """

    lengths: str
    starts: str
    text_of: str
    positions: str
    total: str


def packing(g: Graph, lengths: str, tokens: str) -> Packing:
    """The packing of ``tokens``, any [tokens], into texts of these ``lengths``, INT64 [texts]."""
    starts = g.op("Sub", g.op("CumSum", lengths, g.constant(0)), lengths)
    total = g.op("Shape", tokens)
    text_of = g.running_index(starts, total)
    tokens_in_order = g.op("Range", g.constant(0), g.op("Squeeze", total), g.constant(1))
    positions = g.op("Sub", tokens_in_order, g.op("Gather", starts, text_of))
    return Packing(lengths, starts, text_of, positions, total)


def query_key_value(layer: str) -> list[str]:
    """The names of the three linear layers at the beginning of a layer's attention."""
    return [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]


class PackedEncoder(ABC):
    """Builds an encoder into a graph from the state dict of its Hugging Face model."""

    _float: type[np.floating[Any]] = np.float32

    def __init__(self, g: Graph, shape: EncoderShape, weights: Weights, progress: Progress = SILENT) -> None:
        self._g, self._shape, self._weights, self._progress = g, shape, weights, progress

    def build(self, ids: str, pack: Packing, *, first_token_only: bool) -> str:
        """The last hidden states FP32 [tokens, width], or only those of each text's first token, [texts, width].

        ``ids`` are the token ids, INT64 [tokens].
        """
        x, norm = self._embed(ids, pack.positions), "embeddings.LayerNorm"
        for layer in self._progress.over(range(self._shape.layers), "building layers"):
            name = f"encoder.layer.{layer}"
            last = first_token_only and layer == self._shape.layers - 1
            x, norm = self._layer(x, norm, name, pack, pack.starts if last else ""), f"{name}.output.LayerNorm"
        return self._norm(x, norm)

    def _embed(self, ids: str, positions: str) -> str:
        g, shape, w = self._g, self._shape, self._weights
        table = w["embeddings.position_embeddings.weight"][shape.first_position :]
        table = table + w["embeddings.token_type_embeddings.weight"][0]
        words = g.weight(w["embeddings.word_embeddings.weight"].astype(self._float, copy=False), "words")
        # In a text that is longer than the trained positions, these start over.
        wrapped = g.op("Mod", positions, g.constant(len(table)))
        embedded = g.op("Gather", g.weight(table.astype(self._float, copy=False), "positions"), wrapped)
        return g.op("Add", g.op("Gather", words, ids), embedded)

    def _layer(self, x: str, norm: str, name: str, pack: Packing, tokens: str) -> str:
        """One layer: from the sum before its normalisation ``norm`` to the next such sum, for ``tokens`` if given.

        The sum is passed on before its normalisation, because int8 normalises it twice, in two ways.
        """
        g = self._g
        x = self._norm(x, norm)
        attended = self._attend(self._query_key_value(x, name), pack)
        if tokens:
            attended, x = g.op("Gather", attended, tokens), g.op("Gather", x, tokens)
        dense = self.linear(attended, f"{name}.attention.output.dense")
        x = self._norm(g.op("Add", dense, x), f"{name}.attention.output.LayerNorm")
        inner = g.op("Gelu", self.linear(x, f"{name}.intermediate.dense"), domain=MICROSOFT)
        return g.op("Add", self.linear(inner, f"{name}.output.dense"), x)

    def _query_key_value(self, x: str, layer: str) -> list[str]:
        """Queries, keys and values, each [tokens, width]."""
        return self._g.ops("Split", [self.linear(x, *query_key_value(layer))], 3, axis=1)

    @abstractmethod
    def _attend(self, query_key_value: list[str], pack: Packing) -> str:
        """Attention within each text, [tokens, width]."""

    def linear(self, x: str, *names: str) -> str:
        """One matrix product for the layers ``names`` side by side, with their biases."""
        layer = Linear.joined([self._linear_of(name) for name in names])
        weights = (array.astype(self._float, copy=False) for array in (layer.weight.T, layer.bias))
        return self._g.op("Gemm", x, *(self._g.weight(array, "linear") for array in weights), transB=1)

    def _linear_of(self, name: str) -> Linear:
        return Linear(self._weights[f"{name}.weight"].T, self._weights[f"{name}.bias"])

    def _norm(self, x: str, name: str) -> str:
        return self._normalised(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _normalised(self, x: str, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> str:
        weights = (self._g.weight(array.astype(self._float, copy=False), "norm") for array in (weight, bias))
        return self._g.op("LayerNormalization", x, *weights, axis=-1, epsilon=self._shape.epsilon)


def text_inputs() -> list[onnx.ValueInfoProto]:
    """The two ragged inputs of every text model."""
    return [
        helper.make_tensor_value_info("input_ids", TensorProto.INT32, ["tokens"]),
        helper.make_tensor_value_info("lengths", TensorProto.INT32, ["texts"]),
    ]
