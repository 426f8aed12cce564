"""Doubles the samples of a sequence by a join and another shape, where the published graph resizes.

OpenVINO's kernel for resizing refuses, when it runs, a graph that also has integers: "bad combination".
"""

import onnx

from scripts.export_models.kokoro.editing import Editing
from scripts.export_models.onnx_graph import Graph

_DOUBLED = [1, 1, 2]


def found(model: onnx.ModelProto) -> int:
    """The number of nodes that double the length of sequences."""
    editing = Editing(model.graph)
    return sum(_doubles(editing, node) for node in model.graph.node)


def joined(model: onnx.ModelProto) -> int:
    """Rewrite a model in place; returns how many nodes it rewrote."""
    editing = Editing(model.graph)
    nodes = [node for node in model.graph.node if _doubles(editing, node)]
    for node in nodes:
        g = Graph(prefix=f"{node.output[0]}_")
        sample = g.op("Unsqueeze", node.input[0], g.constant([3]))
        g.op("Reshape", g.op("Concat", sample, sample, axis=3), g.constant([0, 0, -1]), output=node.output[0])
        editing.replace(node, g)
    editing.finish()
    return len(nodes)


def _doubles(editing: Editing, node: onnx.NodeProto) -> bool:
    return node.op_type == "Resize" and editing.constants[node.input[2]].tolist() == _DOUBLED
