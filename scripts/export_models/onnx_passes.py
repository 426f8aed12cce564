"""Passes over a finished ONNX graph, which replace nodes by others with the same results.

Before a pass begins, what it should rewrite is counted, by a simpler rule than the one it rewrites by. If it rewrites
less, the graph is refused: it would be right but slower than the benchmarks say.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.onnx_graph import Graph

CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})
ELEMENTWISE = {"Add", "Sub", "Mul", "Div", "LeakyRelu", "Relu", "Tanh", "Sigmoid"}

Count = Callable[[onnx.ModelProto], int]


@dataclass(frozen=True)
class Pass:
    """Rewrites a graph in place: ``rewrite`` returns how many ``parts`` it has rewritten; it must be all ``found``."""

    name: str
    parts: str
    found: Count
    rewrite: Count

    def run(self, model: onnx.ModelProto) -> None:
        """Rewrite a graph; raises ``SourceError`` if a part does not match."""
        found = self.found(model)
        rewritten = self.rewrite(model)
        if not found or rewritten != found:
            raise SourceError(f"the pass {self.name!r} rewrote {rewritten} of the graph's {found} {self.parts}")


def nodes(*kinds: str) -> Count:
    """Counts the nodes of these kinds."""
    return lambda model: len(nodes_of(model, *kinds))


def replace_nodes(graph: onnx.GraphProto, nodes: Sequence[onnx.NodeProto]) -> None:
    """Replace all nodes of a graph; the new ones may include its own."""
    del graph.node[:]
    graph.node.extend(nodes)


def drop_unused(graph: onnx.GraphProto) -> None:
    """Remove the weights and constants of a graph that nothing reads."""
    read = {name for node in graph.node for name in read_by(node)} | {output.name for output in graph.output}
    replace_nodes(graph, [node for node in graph.node if node.op_type != "Constant" or node.output[0] in read])
    kept = [weight for weight in graph.initializer if weight.name in read]
    del graph.initializer[:]
    graph.initializer.extend(kept)


def constants_of(graph: onnx.GraphProto) -> dict[str, NDArray[Any]]:
    """The constant tensors by name: initializers and the values of Constant nodes."""
    tensors = {weight.name: weight for weight in graph.initializer}
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.name == "value":
                tensors[node.output[0]] = attribute.t
    return {name: numpy_helper.to_array(tensor) for name, tensor in tensors.items()}


def channels_of(graph: onnx.GraphProto) -> dict[str, int]:
    """The number of channels of the outputs of convolutions, and of what is computed only from these, by name."""
    constants = constants_of(graph)
    found: dict[str, int] = {}
    for node in graph.node:
        if node.op_type in CONVOLUTIONS and node.input[1] in constants:
            out, within = constants[node.input[1]].shape[:2]
            found[node.output[0]] = out if node.op_type == "Conv" else within * attributes_of(node).get("group", 1)
        elif node.op_type in ELEMENTWISE:
            given = {found.get(name) for name in node.input if name not in constants}
            if len(given) == 1 and (count := given.pop()) is not None:
                found[node.output[0]] = count
    return found


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def read_by(node: onnx.NodeProto) -> list[str]:
    """The tensors that a node reads, also through its subgraphs."""
    names = list(node.input)
    for attribute in node.attribute:
        for inner in attribute.g.node:
            names += read_by(inner)
        names += [output.name for output in attribute.g.output]
    return names


def nodes_of(model: onnx.ModelProto, *kinds: str) -> list[onnx.NodeProto]:
    """The nodes of these kinds, also inside loops."""
    return [node for graph in graphs_in(model.graph) for node in graph.node if node.op_type in kinds]


def graphs_in(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """A graph and its subgraphs, such as the bodies of loops."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs_in(attribute.g)


class Editing:
    """A graph while a pass rewrites it: who makes a tensor, who reads it, and what takes a node's place.

    ``finish`` makes the changes.
    """

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
