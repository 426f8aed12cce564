"""Compares an exported text model with its original, and a text alone with the same text in a batch.

In fp16 the graph is for CUDA. Processors have no PackedMultiHeadAttention, so a copy of the graph computes it with
plain operators from the same inputs. How CUDA's kernels round is not checked.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import TensorProto, helper

from scripts.export_models.onnx_graph import Graph
from scripts.export_models.onnx_passes import attributes_of, replace_nodes
from scripts.export_models.parity import Check
from scripts.export_models.text_graph import MASKED

# Lengths of the compared texts, in tokens.
_LENGTHS = (3, 4, 7, 16, 60, 129, 500, 2048, 8192)
# The largest difference between two float32 numbers that should be equal.
_EXACT_LIMIT = 1e-5
_ATTENTION = "PackedMultiHeadAttention"
# The operators after which numbers can grow; a sum of two numbers within the limit is still within fp16.
_GROWING = {"Gelu", "Gemm", "LayerNormalization"}
# The largest fp16 is 65,504; half of it is left for other texts.
_LARGEST_LIMIT = 65_504 / 2


@dataclass(frozen=True)
class Limits:
    """Limits of ``precision`` for vectors (1 - cosine), scores, and the share of pairs in another order."""

    precision: str
    cosine: float
    score: float
    order: float


INT8 = Limits("int8", cosine=1e-3, score=2.5e-2, order=2e-2)
BF16 = Limits("bf16", cosine=2e-4, score=1e-2, order=1e-2)
FP16 = Limits("fp16", cosine=1e-4, score=5e-3, order=1e-2)

Ids = list[NDArray[np.int32]]
Run = Callable[[Ids], NDArray[np.float32]]


def of_every_length(tokenizer: Any, longest: int, *, pair: bool) -> Ids:
    """Random texts of every length up to ``longest``, or pairs, with the tokenizer's special tokens."""
    rng = np.random.default_rng(20)
    framed = tokenizer("a", "b").input_ids if pair else tokenizer("a").input_ids
    special = set(tokenizer.all_special_ids)
    ordinary = np.array([i for i in range(len(tokenizer)) if i not in special])
    slots = [place for place, token in enumerate(framed) if token not in special]
    texts = []
    for length in _LENGTHS:
        if len(framed) <= length <= longest:
            missing = length - len(framed) + len(slots)
            first = slots[0]
            filler = rng.choice(ordinary, missing - (len(slots) - 1))
            text = [*framed[:first], *filler.tolist(), *framed[first + 1 :]]
            texts.append(np.array(text, np.int32))
    return texts


def batch_invariant(name: str, run: Run, texts: Ids) -> Check:
    """The largest difference between a text's row alone and in a batch with all others."""
    together = run(texts)
    change = max(float(np.abs(run([text])[0] - row).max()) for text, row in zip(texts, together, strict=True))
    return Check(name, "text alone and in a batch", change, _EXACT_LIMIT)


def exact(name: str, run: Run, texts: Ids, wanted: NDArray[np.float32]) -> Check:
    """The largest difference of any number from the original's answers, ``wanted``."""
    difference = float(np.abs(run(texts) - wanted).max())
    return Check(name, f"fp32: {len(texts)} texts to {max(map(len, texts))} tokens", difference, _EXACT_LIMIT)


def close(name: str, limits: Limits, run: Run, texts: Ids, wanted: NDArray[np.float32]) -> list[Check]:
    """How far the answers are from the original's, ``wanted``, and how often two texts are in another order.

    Answers are vectors [texts, width] or scores [pairs].
    """
    got, precision = run(texts), limits.precision
    if got.ndim == 1:
        loss = Check(name, f"{precision}: score", float(np.abs(got - wanted).max()), limits.score)
        return [loss, Check(name, f"{precision}: pairs in another order", disorder(wanted, got), limits.order)]
    turned = float((1 - (got * wanted).sum(axis=1)).max())
    changed = [disorder(*(np.delete(rows @ rows[at], at) for rows in (wanted, got))) for at in range(len(texts))]
    return [
        Check(name, f"{precision}: 1 - cosine", turned, limits.cosine),
        Check(name, f"{precision}: neighbours in another order", float(np.mean(changed)), limits.order),
    ]


def disorder(wanted: NDArray[np.float32], got: NDArray[np.float32]) -> float:
    """The share of pairs that two lists of scores [n] put in different orders (normalised Kendall tau distance)."""
    one, other = np.triu_indices(len(wanted), 1)
    return float(np.mean((wanted[one] < wanted[other]) != (got[one] < got[other])))


def fp16(name: str, written: Path, texts: Ids, wanted: NDArray[np.float32], threads: int) -> list[Check]:
    """Compare the graph in the file ``written`` on ``texts`` with the original's answers, ``wanted``.

    The last check is of the largest number that it computes.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    # By default the maxima are computed last, and every tensor of every layer is kept for them.
    options.execution_order = ort.ExecutionOrder.PRIORITY_BASED
    # The copy reads the weights next to the graph.
    copy = written.with_name("on-a-processor.onnx")
    onnx.save(on_a_processor(onnx.load(str(written), load_external_data=False)), str(copy))
    try:
        session = ort.InferenceSession(str(copy), options, providers=["CPUExecutionProvider"])
    finally:
        copy.unlink()
    largest = 0.0

    def run(texts: Ids) -> NDArray[np.float32]:
        nonlocal largest
        lengths = np.array([len(text) for text in texts], np.int32)
        answer: NDArray[np.float32]
        answer, largest = session.run(None, {"input_ids": np.concatenate(texts), "lengths": lengths})
        return answer

    found = close(name, FP16, run, texts, wanted)
    return [*found, Check(name, "fp16: largest activation", float(largest), _LARGEST_LIMIT)]


def on_a_processor(model: onnx.ModelProto) -> onnx.ModelProto:
    """Replace each packed attention of ``model`` by plain operators, and add an output: the largest number, FP32 []."""
    g = Graph(prefix="plain_")
    largest = []
    for node in list(model.graph.node):
        if node.op_type == _ATTENTION:
            _attention(g, node)
            continue
        g.nodes.append(node)
        if node.op_type in _GROWING:
            largest.append(g.op("ReduceMax", g.op("Abs", g.cast(node.output[0], TensorProto.FLOAT)), keepdims=0))
    found = g.op("Max", *largest)
    replace_nodes(model.graph, g.nodes)
    model.graph.initializer.extend(g.weights)
    model.graph.output.append(helper.make_tensor_value_info(found, TensorProto.FLOAT, []))
    return model


def _attention(g: Graph, node: onnx.NodeProto) -> None:
    """Attention of padded texts in fp32, which CUDA's kernels compute in too."""
    *query_key_value, _, offsets, cumulative = node.input
    heads = attributes_of(node)["num_heads"]
    first, second = g.constant([0]), g.constant([1])
    edges = g.cast(cumulative, TensorProto.INT64)
    begins = g.op("Slice", edges, first, g.constant([-1]))
    lengths = g.op("Sub", g.op("Slice", edges, second, g.constant([np.iinfo(np.int64).max])), begins)
    longest = g.size(offsets, 1)
    columns = g.op("Range", g.constant(0), g.op("Squeeze", longest), g.constant(1))
    real = g.op("Less", columns, g.op("Unsqueeze", lengths, second))
    masked = g.op("Where", real, g.constant(0, np.float32), g.constant(MASKED, np.float32))
    indices = g.op("Slice", g.op("Reshape", offsets, g.constant([-1])), first, g.size(query_key_value[0], 0))
    indices = g.op("Unsqueeze", g.cast(indices, TensorProto.INT64), second)
    rows = g.op("Mul", g.size(offsets, 0), longest)
    by_head = g.op("Concat", g.op("Shape", offsets), g.constant([heads, -1]), axis=0)

    def padded(x: str) -> str:
        """[tokens, width] as [texts, heads, longest, width of a head]."""
        zeros = g.op("ConstantOfShape", g.op("Concat", rows, g.size(x, 1), axis=0))
        block = g.op("ScatterND", zeros, indices, g.cast(x, TensorProto.FLOAT))
        return g.op("Transpose", g.op("Reshape", block, by_head), perm=[0, 2, 1, 3])

    query, key, value = map(padded, query_key_value)
    width = g.op("Sqrt", g.cast(g.size(query, 3), TensorProto.FLOAT))
    scores = g.op("Div", g.op("MatMul", query, g.op("Transpose", key, perm=[0, 1, 3, 2])), width)
    weights = g.op("Softmax", g.op("Add", scores, g.op("Unsqueeze", masked, g.constant([1, 2]))), axis=-1)
    attended = g.op("Transpose", g.op("MatMul", weights, value), perm=[0, 2, 1, 3])
    block = g.op("Reshape", attended, g.op("Concat", rows, g.constant([-1]), axis=0))
    answer = g.op("GatherND", block, indices)
    g.op("Cast", answer, output=node.output[0], to=TensorProto.FLOAT16)
