"""BERT and XLM-RoBERTa encoders as packed graphs: the texts of a batch lie end to end and are never padded.

The graph reads ``input_ids`` INT32 [tokens] and ``lengths`` INT32 [texts]. Everything but attention works on
[tokens, width]; attention runs text by text in a Loop over ONNX Runtime's MultiHeadAttention, without a mask, which is
its flash-attention path on the CPU (Dao et al. 2022). For CUDA it is one PackedMultiHeadAttention instead.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from scripts.export_models.graph import MICROSOFT, Graph

Precision = Literal["fp32", "int8", "fp16"]
Weights = dict[str, NDArray[np.float32]]


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
        if config.hidden_act != "gelu" or config.position_embedding_type != "absolute":
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
    """Where the texts lie, as INT64 tensors: ``lengths`` and ``starts`` [texts], ``text_of`` and ``place`` [tokens]."""

    lengths: str
    starts: str
    text_of: str
    place: str
    total: str


def packing(g: Graph, lengths: str, tokens: str) -> Packing:
    """Derive starts, and for each token its text and its place in it. ``lengths`` INT64, ``tokens`` any [tokens]."""
    ends = g.op("CumSum", lengths, g.constant(0))
    starts = g.op("Sub", ends, lengths)
    total = g.op("Shape", tokens)
    text_of = g.running_index(starts, total)
    count = g.op("Squeeze", total)
    every = g.op("Range", g.constant(0), count, g.constant(1))
    place = g.op("Sub", every, g.op("Gather", starts, text_of))
    return Packing(lengths, starts, text_of, place, total)


def rowwise_int8(g: Graph, x: str, weight: NDArray[np.float32]) -> str:
    """``x @ weight`` in integers, each row of ``x`` [rows, in] scaled by its own maximum.

    A row's answer depends on that row alone, so a text's vector is the same in any company. Activations are
    uint8 around 128 and weights int8 with a scale a column: the pair that has fast kernels.
    """
    scales = np.maximum(np.abs(weight).max(axis=0), 1e-12) / 127
    quantized = np.round(weight / scales).astype(np.int8)
    # Few passes over [rows, in] and [rows, out]: beside the integer product they are half of the time.
    highest = g.op("Max", *(_row_extreme(g, name, x) for name in ("ReduceMax", "ReduceMin")))
    step = g.op("Div", g.op("Max", highest, g.constant(1e-12, np.float32)), g.constant(127, np.float32))
    middle = g.op("Expand", g.constant(128, np.uint8), g.op("Shape", step))
    product = g.op(
        "MatMulIntegerToFloat",
        g.op("QuantizeLinear", x, step, middle, axis=0),
        g.weight(quantized, "int8"),
        g.constant(1, np.float32),
        g.weight(scales.astype(np.float32), "scales"),
        g.constant(128, np.uint8),
        domain=MICROSOFT,
    )
    return g.op("Mul", product, g.op("Unsqueeze", step, g.constant([1])))


def _row_extreme(g: Graph, name: str, x: str) -> str:
    """The largest value of each row, or the smallest one's distance below zero."""
    extreme = g.op(name, x, axes=[-1], keepdims=0)
    return extreme if name == "ReduceMax" else g.op("Neg", extreme)


class PackedEncoder:
    """Builds one encoder into a graph from the state dict of its Hugging Face model."""

    def __init__(self, g: Graph, shape: EncoderShape, weights: Weights, precision: Precision) -> None:
        self._g, self._shape, self._weights, self._precision = g, shape, weights, precision
        self._float = np.float16 if precision == "fp16" else np.float32

    def _weight(self, name: str) -> str:
        return self._g.weight(self._weights[name].astype(self._float), name.split(".")[-2])

    def linear(self, x: str, *names: str) -> str:
        """One matrix product for the layers ``names`` side by side, with their biases."""
        weight = np.concatenate([self._weights[f"{name}.weight"].T for name in names], axis=1)
        bias = np.concatenate([self._weights[f"{name}.bias"] for name in names])
        if self._precision == "int8":
            product = rowwise_int8(self._g, x, weight)
        else:
            product = self._g.op("MatMul", x, self._g.weight(weight.astype(self._float), "weight"))
        return self._g.op("Add", product, self._g.weight(bias.astype(self._float), "bias"))

    def _norm(self, x: str, name: str) -> str:
        scale, shift = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        return self._g.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=self._shape.epsilon)

    def _embed(self, ids: str, place: str) -> str:
        g, shape, w = self._g, self._shape, self._weights
        table = w["embeddings.position_embeddings.weight"][shape.first_position :]
        positions = table + w["embeddings.token_type_embeddings.weight"][0]
        words = g.weight(w["embeddings.word_embeddings.weight"].astype(self._float), "words")
        # A text longer than the positions that were trained starts over with the first one.
        wrapped = g.op("Mod", place, g.constant(len(table)))
        where = g.op("Gather", g.weight(positions.astype(self._float), "positions"), wrapped)
        return self._norm(g.op("Add", g.op("Gather", words, ids), where), "embeddings.LayerNorm")

    def build(self, ids: str, pack: Packing, *, first_token_only: bool) -> str:
        """The last hidden states [tokens, width], or [texts, width] of the first tokens alone."""
        g = self._g
        attend = self._packed_attention if self._precision == "fp16" else self._attention_by_text
        x = self._embed(ids, pack.place)
        if self._precision == "fp16":
            self._cuda_layout(pack)
        for layer in range(self._shape.layers):
            name = f"encoder.layer.{layer}"
            parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
            attended = attend(self.linear(x, *parts), pack)
            if first_token_only and layer == self._shape.layers - 1:
                attended, x = g.op("Gather", attended, pack.starts), g.op("Gather", x, pack.starts)
            dense = self.linear(attended, f"{name}.attention.output.dense")
            x = self._norm(g.op("Add", dense, x), f"{name}.attention.output.LayerNorm")
            inner = g.op("Gelu", self.linear(x, f"{name}.intermediate.dense"), domain=MICROSOFT)
            outer = self.linear(inner, f"{name}.output.dense")
            x = self._norm(g.op("Add", outer, x), f"{name}.output.LayerNorm")
        return g.cast(x, TensorProto.FLOAT) if self._precision == "fp16" else x

    def _attention_by_text(self, qkv: str, pack: Packing) -> str:
        """Attention of each text by itself; memory grows with the longest text, not with its square."""
        g = self._g
        texts = g.op("SplitToSequence", qkv, pack.lengths, axis=0)
        body = Graph(prefix=g.name("text") + "_")
        single = body.op("SequenceAt", texts, "index")
        batched = body.op("Unsqueeze", single, body.constant([0]))
        q, k, v = body.ops("Split", [batched], 3, axis=2)
        answer = body.op("MultiHeadAttention", q, k, v, domain=MICROSOFT, num_heads=self._shape.heads)
        flat = body.op("Squeeze", answer, body.constant([0]))
        body.op("SequenceInsert", "so_far", flat, output="collected")
        body.op("Identity", "go_on", output="still_on")
        sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
        loop = helper.make_graph(
            body.nodes,
            "each_text",
            [
                helper.make_tensor_value_info("index", TensorProto.INT64, []),
                helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
                helper.make_value_info("so_far", sequence),
            ],
            [
                helper.make_tensor_value_info("still_on", TensorProto.BOOL, []),
                helper.make_value_info("collected", sequence),
            ],
            body.weights,
        )
        count = g.op("Squeeze", g.op("Shape", pack.lengths))
        empty = g.op("SequenceEmpty", dtype=TensorProto.FLOAT)
        attended = g.op("Loop", count, g.constant(True, np.bool_), empty, body=loop)
        return g.op("ConcatFromSequence", attended, axis=0)

    def _cuda_layout(self, pack: Packing) -> None:
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

    def _packed_attention(self, qkv: str, pack: Packing) -> str:
        g = self._g
        q, k, v = g.ops("Split", [qkv], 3, axis=1)
        inputs = (q, k, v, "", self._token_offset, self._running)
        return g.op("PackedMultiHeadAttention", *inputs, domain=MICROSOFT, num_heads=self._shape.heads)


def normalise(g: Graph, x: str) -> str:
    """Divide each row by its Euclidean length."""
    length = g.op("ReduceL2", x, axes=[-1], keepdims=1)
    return g.op("Div", x, g.op("Max", length, g.constant(1e-12, np.float32)))


def mean_by_text(g: Graph, hidden: str, pack: Packing) -> str:
    """The mean of each text's rows: [tokens, width] to [texts, width].

    A Loop, because ONNX Runtime's ScatterND adds from several threads at once and loses some, and because a
    difference of running sums would depend on the texts before.
    """
    texts = g.op("SplitToSequence", hidden, pack.lengths, axis=0)
    body = Graph(prefix=g.name("mean") + "_")
    rows = body.op("SequenceAt", texts, "index")
    body.op("ReduceMean", rows, output="mean", axes=[0], keepdims=0)
    body.op("Identity", "go_on", output="still_on")
    loop = helper.make_graph(
        body.nodes,
        "each_mean",
        [
            helper.make_tensor_value_info("index", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
        ],
        [
            helper.make_tensor_value_info("still_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("mean", TensorProto.FLOAT, None),
        ],
        body.weights,
    )
    count = g.op("Squeeze", g.op("Shape", pack.lengths))
    return g.op("Loop", count, g.constant(True, np.bool_), body=loop)


def text_inputs() -> list[onnx.ValueInfoProto]:
    """The two ragged inputs that every text model has."""
    return [
        helper.make_tensor_value_info("input_ids", TensorProto.INT32, ["tokens"]),
        helper.make_tensor_value_info("lengths", TensorProto.INT32, ["texts"]),
    ]
