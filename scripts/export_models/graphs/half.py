"""What a graph in fp16 computes on CUDA, emulated on a processor.

CUDA's kernels read and write fp16 and compute in between in fp32: sums of products, means and softmax. So each
operator is computed in fp32 here, and what it gives is rounded to fp16, past 65,504 to infinity. Packed attention is
computed text by text. The order of sums differs, as it does from one GPU to another.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import TensorProto, helper

from scripts.export_models.graphs.builder import MICROSOFT, Graph
from scripts.export_models.graphs.packed_attention import KIND as PACKED_ATTENTION
from scripts.export_models.graphs.rewriting import attributes_of, replace_nodes
from scripts.export_models.graphs.sessions import Arrays
from scripts.export_models.graphs.values import Value, values_of, without_weights

# They compute nothing, and so round nothing.
_MOVING = {"Cast", "Compress", "Concat", "Gather", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Unsqueeze"}


class Emulation:
    """A graph in fp16 as a function; ``largest`` is the largest number yet that was to be rounded."""

    def __init__(self, path: Path, threads: int) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        # By default the search for the largest numbers comes last, and every tensor of every layer waits for it.
        options.execution_order = ort.ExecutionOrder.PRIORITY_BASED
        # Beside the original, whose weights it reads.
        beside = path.with_name("emulated.onnx")
        onnx.save(emulated(without_weights(path)), str(beside))
        try:
            self._session = ort.InferenceSession(str(beside), options, providers=["CPUExecutionProvider"])
        finally:
            beside.unlink()
        self.largest = 0.0

    def infer(self, inputs: Arrays) -> NDArray[np.float32]:
        """The graph's first output."""
        answer, largest = self._session.run(None, inputs)
        self.largest = float(np.maximum(self.largest, largest))
        result: NDArray[np.float32] = answer
        return result


def emulated(model: onnx.ModelProto) -> onnx.ModelProto:
    """``model`` for a processor, with one more output: the largest of all numbers that are rounded, FP32 []."""
    values, g = values_of(model), Graph(prefix="emulated_")
    largest = []
    for node in list(model.graph.node):
        if node.op_type in _MOVING or values[node.output[0]].kind != TensorProto.FLOAT16:
            g.nodes.append(node)
            continue
        answer = _computed(g, node, values)
        largest.append(g.op("ReduceMax", g.op("Abs", answer), keepdims=0))
        g.op("Cast", answer, output=node.output[0], to=TensorProto.FLOAT16)
    found = g.op("Max", g.constant(0, np.float32), *largest)
    replace_nodes(model.graph, g.nodes)
    model.graph.initializer.extend(g.weights)
    model.graph.output.append(helper.make_tensor_value_info(found, TensorProto.FLOAT, []))
    return model


def _computed(g: Graph, node: onnx.NodeProto, values: Mapping[str, Value]) -> str:
    """What a node gives, in FP32."""
    inputs = [
        g.cast(name, TensorProto.FLOAT) if name and values[name].kind == TensorProto.FLOAT16 else name
        for name in node.input
    ]
    if node.op_type == PACKED_ATTENTION:
        return _attention(g, inputs, attributes_of(node))
    return g.op(node.op_type, *inputs, domain=node.domain, **attributes_of(node))


def _attention(g: Graph, inputs: list[str], attributes: Mapping[str, Any]) -> str:
    queries, keys, others, _, _, running = inputs
    edges = g.cast(running, TensorProto.INT64)
    last, first = g.constant([-1]), g.constant([0])
    begins = g.op("Slice", edges, first, last)
    ends = g.op("Slice", edges, g.constant([1]), g.constant([np.iinfo(np.int64).max]))

    def text(body: Graph, index: str) -> str:
        begin, end = (body.op("Unsqueeze", body.op("Gather", all_, index), first) for all_ in (begins, ends))
        its = [body.op("Unsqueeze", body.op("Slice", each, begin, end), first) for each in (queries, keys, others)]
        return body.op("Squeeze", body.op("MultiHeadAttention", *its, domain=MICROSOFT, **attributes), first)

    return g.collect("text", g.op("Squeeze", g.op("Shape", begins)), text)
