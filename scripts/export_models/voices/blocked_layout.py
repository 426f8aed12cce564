"""Between convolutions, only what ONNX Runtime's blocked layout knows.

Its fast convolutions read and write channels in blocks of 16. LeakyRelu, a division, and a transposed convolution are
not known there, and each one costs two passes that lay everything out anew. Convolutions that multiply each channel by
a number take their place. Built into one, LeakyRelu is a pass of its own, four numbers at a time; Relu and a sum are
made on the way, sixteen at a time, and LeakyRelu is Relu of a part of its input, and the rest.

Without this pass alone a sentence takes 4 % more time, and no other memory.
"""

import numpy as np
import onnx
from onnx import helper, numpy_helper

from scripts.export_models.graphs.rewriting import (
    attributes_of,
    channels_of,
    constants_of,
    drop_unused,
    nodes_of,
    read_by,
    replace_nodes,
)

_BLOCK = 16
# LeakyRelu's, where it does not say.
_SLOPE = 0.01


def found(model: onnx.ModelProto) -> int:
    """How many convolutions to add: one behind each transposed one, two for each activation that is behind none."""
    convolved = {output for node in nodes_of(model, "Conv") for output in node.output}
    activations = [node for node in nodes_of(model, "LeakyRelu") if node.input[0] not in convolved]
    return len(nodes_of(model, "ConvTranspose")) + 2 * len(activations)


def keep_blocked(model: onnx.ModelProto) -> int:
    """Rewrite a model, whose convolutions are over pictures, in place, and answer how many convolutions were added."""
    rewriting = _BlockedLayout(model.graph)
    rewriting.run()
    return rewriting.count


class _BlockedLayout:
    def __init__(self, graph: onnx.GraphProto) -> None:
        self._graph = graph
        self._channels = {name: count for name, count in channels_of(graph).items() if count % _BLOCK == 0}
        self._constants = constants_of(graph)
        self._producer = {output: node for node in graph.node for output in node.output}
        self._nodes: list[onnx.NodeProto] = []
        self.count = 0

    def run(self) -> None:
        for node in list(self._graph.node):
            if node.op_type == "ConvTranspose" and node.output[0] in self._channels:
                self._hand_over(node)
            elif node.op_type == "LeakyRelu" and node.input[0] in self._channels:
                self._build_in(node)
            else:
                self._nodes.append(node)
        # Divisions that nobody reads any more are left out.
        read = {name for node in self._nodes for name in read_by(node)} | {one.name for one in self._graph.output}
        replace_nodes(self._graph, [node for node in self._nodes if node.op_type != "Div" or node.output[0] in read])
        drop_unused(self._graph)

    def _hand_over(self, node: onnx.NodeProto) -> None:
        """Lay out what a transposed convolution gives once, for all who read it."""
        (output,) = node.output
        plain = f"{output}_plain"
        attributes = attributes_of(node)
        self._nodes.append(helper.make_node(node.op_type, list(node.input), [plain], name=node.name, **attributes))
        self._multiply(plain, output, self._channels[output], 1.0)

    def _build_in(self, node: onnx.NodeProto) -> None:
        """Make an activation of convolutions, unless it has one before it to be built into."""
        given, before = node.input[0], self._producer.get(node.input[0])
        if before is None or before.op_type == "Conv":
            self._nodes.append(node)
            return
        factor = 1.0
        if before.op_type == "Div" and self._divisor(before):
            given, factor = before.input[0], 1 / self._divisor(before)
        (output,), slope = node.output, attributes_of(node).get("alpha", _SLOPE)
        channels = self._channels[node.input[0]]
        self._multiply(given, f"{output}_part", channels, factor * (1 - slope))
        self._nodes.append(helper.make_node("Relu", [f"{output}_part"], [f"{output}_positive"]))
        self._multiply(given, f"{output}_rest", channels, factor * slope)
        self._nodes.append(helper.make_node("Add", [f"{output}_rest", f"{output}_positive"], [output], name=node.name))

    def _divisor(self, node: onnx.NodeProto) -> float:
        value = self._constants.get(node.input[1])
        return float(value.item()) if value is not None and value.size == 1 else 0.0

    def _multiply(self, given: str, output: str, channels: int, factor: float) -> None:
        weight = f"{output}_factor"
        values = np.full((channels, 1, 1, 1), factor, np.float32)
        self._graph.initializer.append(numpy_helper.from_array(values, weight))
        self._nodes.append(helper.make_node("Conv", [given, weight], [output], group=channels, kernel_shape=[1, 1]))
        self.count += 1
