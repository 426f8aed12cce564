"""The parts of a graph, also inside subgraphs, and passes that must match all of them."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.onnx_passes import (
    Pass,
    channels_of,
    constants_of,
    drop_unused,
    nodes,
    nodes_of,
    read_by,
)

KERNEL = np.zeros((32, 16, 1, 3), np.float32)


def _model(*nodes: onnx.NodeProto) -> onnx.ModelProto:
    weights = [numpy_helper.from_array(KERNEL, "w"), numpy_helper.from_array(np.array(2, np.float32), "two")]
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy"]
    return helper.make_model(helper.make_graph(list(nodes), "test", tensors[:1], tensors[1:], weights))


def _branch(*nodes: onnx.NodeProto) -> onnx.NodeProto:
    """A node whose subgraph takes what it reads from around it."""
    graph = helper.make_graph(list(nodes), "branch", [], [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)])
    return helper.make_node("If", ["x"], ["y"], then_branch=graph, else_branch=graph)


CONV = helper.make_node("Conv", ["x", "w"], ["a"])
DOUBLED = helper.make_node("Mul", ["a", "two"], ["y"])
INNER = helper.make_node("Mul", ["x", "two"], ["z"])


def test_nodes_inside_of_subgraphs_are_found() -> None:
    assert [node.output[0] for node in nodes_of(_model(_branch(INNER)), "Mul")] == ["z", "z"]


def test_a_node_reads_what_its_subgraphs_read() -> None:
    assert {"x", "two"} <= set(read_by(_branch(INNER)))


def test_weights_that_a_subgraph_alone_reads_are_kept() -> None:
    graph = _model(_branch(INNER)).graph
    drop_unused(graph)
    assert [weight.name for weight in graph.initializer] == ["two"]


def test_constants_are_initializers_and_the_values_of_nodes() -> None:
    constant = helper.make_node("Constant", [], ["three"], value=numpy_helper.from_array(np.array(3.0)))
    found = constants_of(_model(constant, CONV).graph)
    assert (set(found), found["three"].item()) == ({"w", "two", "three"}, 3.0)


@pytest.mark.parametrize(("kind", "count"), [("Conv", 32), ("ConvTranspose", 16)])
def test_channels_are_known_for_convolutions_and_what_is_computed_from_them(kind: str, count: int) -> None:
    graph = _model(helper.make_node(kind, ["x", "w"], ["a"]), DOUBLED).graph
    assert channels_of(graph) == {"a": count, "y": count}


@pytest.mark.parametrize(("found", "rewritten"), [(3, 2), (0, 0), (1, 2)])
def test_a_pass_that_does_not_match_a_graph_is_a_sentence(found: int, rewritten: int) -> None:
    model = onnx.ModelProto()
    model.graph.node.extend([helper.make_node("Conv", ["x", "w"], ["y"])] * found)
    with pytest.raises(SourceError) as caught:
        Pass("tiles", "parts", nodes("Conv"), lambda _: rewritten).run(model)
    assert str(caught.value) == f"the pass 'tiles' rewrote {rewritten} of the graph's {found} parts"
