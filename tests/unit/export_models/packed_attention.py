"""Runs a graph for CUDA on a processor, with plain operators in place of PackedMultiHeadAttention.

How CUDA's kernels round is not checked.
"""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import TensorProto

from scripts.export_models.onnx_graph import Graph, save
from scripts.export_models.onnx_passes import attributes_of, replace_nodes
from scripts.export_models.text_checks import Ids, Run
from scripts.export_models.text_graph import MASKED

PACKED = "PackedMultiHeadAttention"


def on_a_processor(model: onnx.ModelProto, folder: Path) -> Run:
    """The graph as a function from the token ids of texts to one row per text; its attentions are replaced in place."""
    g = Graph(prefix="plain_")
    for node in list(model.graph.node):
        if node.op_type == PACKED:
            _attention(g, node)
        else:
            g.nodes.append(node)
    replace_nodes(model.graph, g.nodes)
    model.graph.initializer.extend(g.weights)
    save(model, folder / "model.onnx")
    session = ort.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])

    def run(texts: Ids) -> NDArray[np.float32]:
        lengths = np.array([len(text) for text in texts], np.int32)
        answer: NDArray[np.float32] = session.run(None, {"input_ids": np.concatenate(texts), "lengths": lengths})[0]
        return answer

    return run


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
