"""A graph while a pass rewrites it: who makes a tensor, who reads it, and what takes a node's place."""

from collections import defaultdict
from typing import Any

import onnx
from numpy.typing import NDArray

from scripts.export_models.onnx_graph import Graph
from scripts.export_models.onnx_passes import constants_of, drop_unused, read_by, replace_nodes


class Editing:
    """Collects a pass's changes to one graph; ``finish`` makes them."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.graph = graph
        self.constants: dict[str, NDArray[Any]] = constants_of(graph)
        self._makers = {output: node for node in graph.node for output in node.output}
        self._readers: dict[str, list[onnx.NodeProto]] = defaultdict(list)
        for node in graph.node:
            for name in node.input:
                self._readers[name].append(node)
        self._instead: dict[str, Graph] = {}

    def maker(self, name: str, *kinds: str) -> onnx.NodeProto | None:
        """The node that makes a tensor, if it is of one of these kinds."""
        node = self._makers.get(name)
        return node if node is not None and (not kinds or node.op_type in kinds) else None

    def behind(self, name: str, *kinds: str) -> list[onnx.NodeProto]:
        """The nodes that make a tensor one after the other, last first; empty if they are not of these kinds.

        Each reads the next one's output before its other tensors; constants do not count.
        """
        found: list[onnx.NodeProto] = []
        for kind in kinds:
            node = self.maker(name, kind)
            if node is None:
                return []
            found.append(node)
            name = next((each for each in node.input if each not in self.constants), "")
        return found

    def readers(self, name: str) -> list[onnx.NodeProto]:
        return self._readers[name]

    def reader(self, name: str, *kinds: str) -> onnx.NodeProto | None:
        """The only node that reads a tensor, if it is of one of these kinds."""
        nodes = self._readers[name]
        return nodes[0] if len(nodes) == 1 and nodes[0].op_type in kinds else None

    def parted(self, node: onnx.NodeProto) -> tuple[str, NDArray[Any]] | None:
        """The tensor and the constant that a node with two inputs reads; None if it reads other ones."""
        known = [name in self.constants for name in node.input]
        if sorted(known) != [False, True]:
            return None
        return node.input[known.index(False)], self.constants[node.input[known.index(True)]]

    def replace(self, node: onnx.NodeProto, built: Graph) -> None:
        """Let ``built``, which makes the node's output, take its place."""
        self._instead[node.output[0]] = built

    def finish(self) -> None:
        """Make the changes, and remove what nothing reads any more."""
        nodes: list[onnx.NodeProto] = []
        for node in self.graph.node:
            built = self._instead.get(node.output[0])
            nodes += [node] if built is None else built.nodes
        for built in self._instead.values():
            self.graph.initializer.extend(built.weights)
        replace_nodes(self.graph, _living(nodes, {output.name for output in self.graph.output}))
        drop_unused(self.graph)


def _living(nodes: list[onnx.NodeProto], wanted: set[str]) -> list[onnx.NodeProto]:
    """The nodes on which the ``wanted`` tensors depend, in their order."""
    kept: list[onnx.NodeProto] = []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            kept.append(node)
            wanted.update(read_by(node))
    return kept[::-1]
