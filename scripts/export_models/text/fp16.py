"""Compares a text model in fp16 with its original on a processor.

Processors have no PackedMultiHeadAttention. A copy of the graph computes it with plain operators from the same inputs.
How CUDA's kernels round is not checked.
"""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import TensorProto, helper

from scripts.export_models.onnx_graph import Graph
from scripts.export_models.onnx_passes import attributes_of, replace_nodes
from scripts.export_models.parity import Check
from scripts.export_models.text.checks import FP16, Ids, close
from scripts.export_models.text.processor import MASKED

_ATTENTION = "PackedMultiHeadAttention"
# The operators after which numbers can grow; a sum of two numbers within the limit is still within fp16.
_GROWING = {"Gelu", "Gemm", "LayerNormalization"}
# The largest fp16 is 65,504; half of it is left for other texts.
_LARGEST_LIMIT = 65_504 / 2


def parity(name: str, written: Path, texts: Ids, wanted: NDArray[np.float32], threads: int) -> list[Check]:
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
