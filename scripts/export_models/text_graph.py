"""The embedder and the rerankers as packed ONNX graphs of BERT and XLM-RoBERTa encoders.

The texts of a batch lie end to end, without padding. A graph reads ``input_ids`` INT32 [tokens] and ``lengths`` INT32
[texts], and everything but attention computes on [tokens, width]. From top to bottom: where the texts lie, attention on
processors and on CUDA, the encoder, and what comes after it.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from scripts.export_models import text_int8
from scripts.export_models.onnx_graph import MICROSOFT, Graph, Linear, Weights, quantise_tokens
from scripts.export_models.precisions import Precision
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.text_int8 import Calibration, Measured, Rounding, Smoothing, smoothing

# Added to a score of attention, it makes the weight zero.
MASKED = -1e9
# Float32 numbers in the widest vector of a processor.
_VECTOR = 16
# OpenVINO keeps 0.8 MB for each number of rows that products had, so on processors it is a multiple of this.
_ROWS = 16

Pooling = Literal["cls", "mean"]
# The input that says which texts are weighed, and the output with the weights of their tokens.
WEIGHED, TOKEN_WEIGHTS = "weighed", "token_weights"


# Where the texts lie


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


def text_inputs() -> list[onnx.ValueInfoProto]:
    """The two ragged inputs of every text model."""
    return [
        helper.make_tensor_value_info("input_ids", TensorProto.INT32, ["tokens"]),
        helper.make_tensor_value_info("lengths", TensorProto.INT32, ["texts"]),
    ]


def packed_inputs(g: Graph) -> tuple[str, Packing]:
    """The token ids, INT64 [tokens], and where the texts lie."""
    ids, lengths = g.cast("input_ids", TensorProto.INT64), g.cast("lengths", TensorProto.INT64)
    return ids, packing(g, lengths, ids)


def packing(g: Graph, lengths: str, tokens: str) -> Packing:
    """The packing of ``tokens``, any [tokens], into texts of these ``lengths``, INT64 [texts]."""
    starts = g.op("Sub", g.op("CumSum", lengths, g.constant(0)), lengths)
    total = g.op("Shape", tokens)
    text_of = g.running_index(starts, total)
    tokens_in_order = g.op("Range", g.constant(0), g.op("Squeeze", total), g.constant(1))
    positions = g.op("Sub", tokens_in_order, g.op("Gather", starts, text_of))
    return Packing(lengths, starts, text_of, positions, total)


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


def padded_batch(g: Graph, pack: Packing) -> PaddedBatch:
    starts, lengths = (g.op("Unsqueeze", each, g.constant([1])) for each in (pack.starts, pack.lengths))
    # OpenVINO sums the rest behind the last whole vector in another order, so without rounding up, the length of
    # another text would change the last digits.
    vectors = g.op("Add", g.op("ReduceMax", lengths, keepdims=0), g.constant(_VECTOR - 1))
    longest = g.op("Mul", g.op("Div", vectors, g.constant(_VECTOR)), g.constant(_VECTOR))
    columns = g.op("Range", g.constant(0), longest, g.constant(1))
    last = g.op("Sub", pack.total, g.constant(1))
    tokens = g.op("Min", g.op("Add", starts, columns), last)
    return PaddedBatch(lengths, longest, tokens, g.op("Less", columns, lengths))


def rounded_up(g: Graph, *values: str) -> list[str]:
    """INT64 [n] each, with zeros behind them until there are a multiple of ``_ROWS``."""
    missing = g.op("Mod", g.op("Sub", g.constant([0]), g.op("Shape", values[0])), g.constant([_ROWS]))
    pads = g.op("Concat", g.constant([0]), missing, axis=0)
    return [g.op("Pad", each, pads) for each in values]


# Attention within each text: of queries, keys and values [tokens, width] each, [tokens, width]


@dataclass(frozen=True)
class OnProcessors:
    """``rows`` INT64 [tokens] has the place of each token in the padded batch; ``mask`` FP32 [texts, 1, 1, longest]."""

    batch: PaddedBatch
    rows: str
    mask: str


def laid_out_for_processors(g: Graph, pack: Packing) -> OnProcessors:
    batch = padded_batch(g, pack)
    rows = g.op("Add", g.op("Mul", pack.text_of, batch.longest), pack.positions)
    masked = g.op("Where", batch.real, g.constant(0, np.float32), g.constant(MASKED, np.float32))
    return OnProcessors(batch, rows, g.op("Unsqueeze", masked, g.constant([1, 2])))


def attend_on_processors(g: Graph, three: list[str], texts: OnProcessors, heads: int, width: int) -> str:
    """Attention of padded texts in plain operators."""
    shape = g.constant([0, 0, heads, width // heads])
    padded = (g.op("Reshape", g.op("Gather", each, texts.batch.tokens), shape) for each in three)
    q, k, v = (g.op("Transpose", each, perm=[0, 2, 1, 3]) for each in padded)
    scaled = g.op("Mul", q, g.constant((width // heads) ** -0.5, np.float32))
    scores = g.op("MatMul", scaled, g.op("Transpose", k, perm=[0, 1, 3, 2]))
    attended = g.op("MatMul", g.op("Softmax", g.op("Add", scores, texts.mask), axis=-1), v)
    rows = g.op("Reshape", g.op("Transpose", attended, perm=[0, 2, 1, 3]), g.constant([-1, width]))
    return g.op("Gather", rows, texts.rows)


@dataclass(frozen=True)
class OnCuda:
    """The last two inputs of PackedMultiHeadAttention, both INT32.

    ``token_offset`` [texts, longest] has the index of each real token in the padded batch, then those of the padding.
    ``cumulative_lengths`` [texts + 1] begins with 0.
    """

    token_offset: str
    cumulative_lengths: str


def laid_out_for_cuda(g: Graph, pack: Packing) -> OnCuda:
    lengths, text_of, positions = (
        g.cast(each, TensorProto.INT32) for each in (pack.lengths, pack.text_of, pack.positions)
    )
    zero, one = g.constant(0, np.int32), g.constant(1, np.int32)
    longest = g.op("ReduceMax", lengths, keepdims=1)
    real = g.op("Add", g.op("Mul", text_of, longest), positions)
    size = g.op("Mul", g.cast(g.op("Shape", lengths), TensorProto.INT32), longest)
    every = g.op("Range", zero, g.op("Squeeze", size), one)
    length = g.op("Gather", lengths, g.op("Div", every, longest))
    padding = g.op("Compress", every, g.op("GreaterOrEqual", g.op("Mod", every, longest), length), axis=0)
    shape = g.op("Concat", g.op("Shape", lengths), g.cast(longest, TensorProto.INT64), axis=0)
    token_offset = g.op("Reshape", g.op("Concat", real, padding, axis=0), shape)
    ends = g.op("CumSum", lengths, g.constant(0))
    return OnCuda(token_offset, g.op("Concat", g.constant([0], np.int32), ends, axis=0))


def attend_on_cuda(g: Graph, three: list[str], texts: OnCuda, heads: int) -> str:
    """One PackedMultiHeadAttention, which only CUDA has."""
    inputs = (*three, "", texts.token_offset, texts.cumulative_lengths)
    return g.op("PackedMultiHeadAttention", *inputs, domain=MICROSOFT, num_heads=heads)


# The encoder


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
class Trained:
    """An encoder's shape and its weights by name, without the model's prefix.

    ``calibration`` has the inputs of its linear layers, for int8, and ``rounding`` rounds their weights.
    """

    shape: EncoderShape
    weights: Weights
    calibration: Calibration = field(default_factory=dict)
    progress: Progress = SILENT
    rounding: Rounding = text_int8.rounded

    def linear(self, name: str) -> Linear:
        return Linear(self.weights[f"{name}.weight"].T, self.weights[f"{name}.bias"])


def trained(model: Any, calibration: Calibration | None = None, progress: Progress = SILENT) -> Trained:
    """Take configuration and weights out of a ``transformers`` model."""
    prefix = f"{model.base_model_prefix}."
    weights = {name.removeprefix(prefix): value.float().numpy() for name, value in model.state_dict().items()}
    return Trained(EncoderShape.of(model.config), weights, calibration or {}, progress)


class Encoder:
    """Builds an encoder into a graph, in one of the precisions; bf16 is the graph of fp32."""

    def __init__(self, g: Graph, weights: Trained, precision: Precision) -> None:
        self._g, self._trained, self._shape, self._precision = g, weights, weights.shape, precision
        self._float = np.float16 if precision == "fp16" else np.float32

    def build(self, ids: str, pack: Packing, rows: str = "") -> str:
        """The last hidden states FP32 [tokens, width], or only those of the tokens ``rows``, INT64 [rows].

        ``ids`` are the token ids, INT64 [tokens]. On processors hidden states that nobody reads follow.
        """
        g, on_cuda = self._g, self._precision == "fp16"
        if not on_cuda:
            ids, text_of, positions = rounded_up(g, ids, pack.text_of, pack.positions)
            pack = replace(pack, text_of=text_of, positions=positions)
            rows = rounded_up(g, rows)[0] if rows else rows
        self._texts = laid_out_for_cuda(g, pack) if on_cuda else laid_out_for_processors(g, pack)
        x, norm = self._embed(ids, pack.positions), "embeddings.LayerNorm"
        for layer in self._trained.progress.over(range(self._shape.layers), "building layers"):
            name = f"encoder.layer.{layer}"
            tokens = rows if layer == self._shape.layers - 1 else ""
            build = self._int8_layer if self._precision == "int8" else self._layer
            x, norm = build(x, norm, name, tokens), f"{name}.output.LayerNorm"
        hidden = self._norm(x, norm)
        return g.cast(hidden, TensorProto.FLOAT) if on_cuda else hidden

    def _embed(self, ids: str, positions: str) -> str:
        g, w = self._g, self._trained.weights
        table = w["embeddings.position_embeddings.weight"][self._shape.first_position :]
        table = table + w["embeddings.token_type_embeddings.weight"][0]
        words = self._weight(w["embeddings.word_embeddings.weight"], "words")
        # In a text that is longer than the trained positions, these start over.
        wrapped = g.op("Mod", positions, g.constant(len(table)))
        embedded = g.op("Gather", self._weight(table, "positions"), wrapped)
        return g.op("Add", g.op("Gather", words, ids), embedded)

    def _layer(self, x: str, norm: str, name: str, tokens: str) -> str:
        """One layer: from the sum before its normalisation ``norm`` to the next such sum, for ``tokens`` if given.

        The sum is passed on before its normalisation, because int8 normalises it twice, in two ways.
        """
        g, names = self._g, _query_key_value(name)
        x = self._norm(x, norm)
        if self._precision == "fp16":
            three = g.ops("Split", [self.linear(x, *names)], 3, axis=1)
        else:
            # Three products, because OpenVINO would copy the parts of one.
            three = [self.linear(x, each) for each in names]
        attended, x = self._of(tokens, self._attend(three), x)
        dense = self.linear(attended, f"{name}.attention.output.dense")
        x = self._norm(g.op("Add", dense, x), f"{name}.attention.output.LayerNorm")
        inner = g.op("Gelu", self.linear(x, f"{name}.intermediate.dense"), domain=MICROSOFT)
        return g.op("Add", self.linear(inner, f"{name}.output.dense"), x)

    def _int8_layer(self, x: str, norm: str, name: str, tokens: str) -> str:
        """A layer with its matrix products in int8, each behind a normalisation that prepares its inputs."""
        g, t, inputs = self._g, self._trained, self._trained.calibration
        query, key, value = _query_key_value(name)
        dense, first, second = (f"{name}.{part}.dense" for part in ("attention.output", "intermediate", "output"))
        # The weights of attention sum to one, so the value layer can prepare the inputs of the output layer.
        inner = smoothing(inputs[dense], t.linear(dense).weight)
        three = Linear.joined([t.linear(query), t.linear(key), inner.of_outputs(t.linear(value))])
        # The three share their inputs. An error in the values shows most in the end.
        outer = smoothing(inputs[query], t.linear(value).weight)
        x_prepared = self._norm(x, norm, outer)
        attended = self._attend(
            text_int8.products(g, x_prepared, Measured(three, inputs[query], outer), t.rounding, parts=3)
        )
        output = Measured(t.linear(dense), inputs[dense], inner)
        (attended,) = text_int8.products(g, attended, output, t.rounding)
        attended, x = self._of(tokens, attended, self._norm(x, norm))
        x, norm = g.op("Add", attended, x), f"{name}.attention.output.LayerNorm"
        wide = Measured(t.linear(first), inputs[first], smoothing(inputs[first], t.linear(first).weight))
        quantised = quantise_tokens(g, self._norm(x, norm, wide.smooth), wide.zero_point())
        narrow = t.linear(second), inputs[second]
        return text_int8.feed_forward(g, quantised, self._norm(x, norm), wide, *narrow, t.rounding)

    def _attend(self, three: list[str]) -> str:
        g, heads = self._g, self._shape.heads
        if isinstance(self._texts, OnCuda):
            return attend_on_cuda(g, three, self._texts, heads)
        return attend_on_processors(g, three, self._texts, heads, self._shape.width)

    def _of(self, tokens: str, *values: str) -> list[str]:
        """The rows of ``tokens`` of some values, or all rows."""
        return [self._g.op("Gather", each, tokens) for each in values] if tokens else list(values)

    def linear(self, x: str, *names: str) -> str:
        """One matrix product for the layers ``names`` side by side, with their biases."""
        layer = Linear.joined([self._trained.linear(name) for name in names])
        return self._g.op("Gemm", x, *(self._weight(each, "linear") for each in (layer.weight.T, layer.bias)), transB=1)

    def _norm(self, x: str, name: str, prepared: Smoothing | None = None) -> str:
        """The normalisation ``name`` of ``x``, as inputs of a layer if they are to be ``prepared``."""
        weight, bias = (self._trained.weights[f"{name}.{part}"] for part in ("weight", "bias"))
        if prepared:
            weight, bias = weight / prepared.scale, (bias - prepared.shift) / prepared.scale
        weights = (self._weight(each, "norm") for each in (weight, bias))
        return self._g.op("LayerNormalization", x, *weights, axis=-1, epsilon=self._shape.epsilon)

    def _weight(self, array: NDArray[np.float32], hint: str) -> str:
        return self._g.weight(array.astype(self._float, copy=False), hint)


def _query_key_value(layer: str) -> list[str]:
    """The names of the three linear layers at the beginning of a layer's attention."""
    return [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]


# What comes after the encoder


def _pooled(g: Graph, model: Trained, precision: Precision, pooling: Pooling, ids: str, pack: Packing) -> str:
    """One vector per text, FP32 [texts, width]: of its first token, or the mean of its tokens."""
    encoder = Encoder(g, model, precision)
    if pooling == "cls":
        hidden = encoder.build(ids, pack, pack.starts)
        texts = g.op("Slice", hidden, g.constant([0]), g.op("Shape", pack.starts))
        return _last(g, precision, texts, model.shape.width)
    return _mean(g, encoder.build(ids, pack), pack)


def _last(g: Graph, precision: Precision, hidden: str, width: int) -> str:
    """Hidden states [texts, width] as an output.

    OpenVINO computes in float32 what reaches the output without another matrix product, and that would be all sums
    between layers. A product with the identity keeps them in bfloat16.
    """
    if precision == "fp16":
        return hidden
    return g.op("MatMul", hidden, g.weight(np.eye(width, dtype=np.float32), "identity"))


def _mean(g: Graph, hidden: str, pack: Packing) -> str:
    """The mean of each text's hidden states [tokens, width], [texts, width]."""
    batch = padded_batch(g, pack)
    real = g.op("Unsqueeze", g.cast(batch.real, TensorProto.FLOAT), g.constant([2]))
    total = g.op("ReduceSum", g.op("Mul", g.op("Gather", hidden, batch.tokens), real), g.constant([1]), keepdims=0)
    return g.op("Div", total, g.cast(batch.lengths, TensorProto.FLOAT))


def _normalised(g: Graph, x: str) -> str:
    """Divide each row by its Euclidean length."""
    length = g.op("ReduceL2", x, axes=[-1], keepdims=1)
    return g.op("Div", x, g.op("Max", length, g.constant(1e-12, np.float32)))


def embedder(
    model: Trained, precision: Precision, pooling: Pooling, promised: int = 0, head: Linear | None = None
) -> onnx.ModelProto:
    """``input_ids`` and ``lengths`` to ``embedding`` FP32 [texts, width], L2-normalised, padded to ``promised``.

    With a ``head`` [width, 1], which processors alone have, also ``weighed`` BOOL [texts] to ``token_weights`` FP32
    [tokens]: what the head says of each token of the texts that are weighed, if it is more than zero.
    """
    g, width = Graph(), model.shape.width
    missing = max(0, promised - width)
    ids, pack = packed_inputs(g)
    inputs, outputs = (
        text_inputs(),
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", width + missing])],
    )
    if head is None:
        pooled = _pooled(g, model, precision, pooling, ids, pack)
    else:
        pooled = _pooled_and_weighed(g, model, precision, pooling, ids, pack, head)
        inputs.append(helper.make_tensor_value_info(WEIGHED, TensorProto.BOOL, ["texts"]))
        outputs.append(helper.make_tensor_value_info(TOKEN_WEIGHTS, TensorProto.FLOAT, ["tokens"]))
    vector = _normalised(g, pooled)
    padded = g.op("Pad", vector, g.constant([0, 0, 0, missing])) if missing else vector
    g.op("Identity", padded, output="embedding")
    return g.model(inputs, outputs)


def _pooled_and_weighed(
    g: Graph, model: Trained, precision: Precision, pooling: Pooling, ids: str, pack: Packing, head: Linear
) -> str:
    """As ``_pooled``, and ``token_weights``. The last layer computes only tokens that are read."""
    is_weighed = g.op("Gather", WEIGHED, pack.text_of)
    is_read = g.op("Or", is_weighed, g.op("Equal", pack.positions, g.constant(0)))
    encoder = Encoder(g, model, precision)
    if pooling == "cls":
        hidden = encoder.build(ids, pack, g.op("Reshape", g.op("NonZero", is_read), g.constant([-1])))
        row_of = g.op("Sub", g.op("CumSum", g.cast(is_read, TensorProto.INT64), g.constant(0)), g.constant(1))
        first = g.op("Gather", hidden, g.op("Gather", row_of, pack.starts))
        pooled = _last(g, precision, first, model.shape.width)
    else:
        hidden, row_of = (
            encoder.build(ids, pack),
            g.op("Range", g.constant(0), g.op("Squeeze", pack.total), g.constant(1)),
        )
        pooled = _mean(g, hidden, pack)
    # OpenVINO would sum a single column differently for other numbers of tokens; it computes whole vectors alike.
    columns = np.pad(head.weight, ((0, 0), (0, _VECTOR - 1)))
    found = g.op("Gather", g.op("MatMul", hidden, g.weight(columns, "head")), g.constant(0), axis=1)
    weights = g.op("Relu", g.op("Add", found, g.constant(head.bias[0], np.float32)))
    g.op("Where", is_weighed, g.op("Gather", weights, row_of), g.constant(0, np.float32), output=TOKEN_WEIGHTS)
    return pooled


def reranker(model: Trained, precision: Precision) -> onnx.ModelProto:
    """``input_ids`` and ``lengths`` of pairs to ``score`` FP32 [pairs], the sigmoid of XLM-R's classification head."""
    g = Graph()
    pooled = _pooled(g, model, precision, "cls", *packed_inputs(g))
    # The head is tiny and decides the order, so it stays in full precision.
    head = Encoder(g, model, "fp32")
    inner = g.op("Tanh", head.linear(pooled, "classifier.dense"))
    return _score_model(g, g.op("Squeeze", head.linear(inner, "classifier.out_proj"), g.constant([1])))


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


def cosine_reranker(model: Trained, precision: Precision, pooling: Pooling, score: PairScore) -> onnx.ModelProto:
    """``input_ids`` and ``lengths`` of pairs to ``score`` FP32 [pairs], which grows with the cosine of both texts."""
    g = Graph()
    texts = _pooled(g, model, precision, pooling, *_split_pairs(g, score.start, score.separator))
    pairs = g.op("Reshape", _normalised(g, texts), g.constant([-1, 2, model.shape.width]))
    left, right = g.ops("Split", [pairs], 2, axis=1)
    cosine = g.op("ReduceSum", g.op("Mul", left, right), g.constant([1, 2]), keepdims=0)
    centred = g.op("Sub", cosine, g.constant(score.middle, np.float32))
    return _score_model(g, g.op("Mul", centred, g.constant(score.slope, np.float32)))


def _split_pairs(g: Graph, start: int, separator: int) -> tuple[str, Packing]:
    """Each pair as two texts with ``start`` and ``separator``: the second of two separators becomes the start.

    In a pair without separators the last token is the second text, so no text is empty.
    """
    ids, pack = packed_inputs(g)
    pairs, one = padded_batch(g, pack), g.constant(1)
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
