import pytest
from onnx import helper

from scripts.export_models.voices.blocked_layout import keep_blocked
from tests.unit.export_models.voices.pictures import model, run, same

WEIGHTS = {"w": (16, 16, 1, 3), "three": ()}
CONVOLVED = helper.make_node("Conv", ["x", "w"], ["a"], pads=[0, 1, 0, 1])
ADDED = helper.make_node("Add", ["a", "a"], ["b"])


@pytest.mark.parametrize("slope", [{}, {"alpha": 0.1}], ids=str)
def test_an_activation_behind_a_sum_is_made_of_convolutions(slope: dict[str, float]) -> None:
    graph = model([CONVOLVED, ADDED, helper.make_node("LeakyRelu", ["b"], ["y"], **slope)], WEIGHTS, ["y"])
    before = run(graph, 30)
    assert keep_blocked(graph) == 2
    assert same(before, run(graph, 30))


def test_an_activation_behind_a_convolution_has_one() -> None:
    graph = model([CONVOLVED, helper.make_node("LeakyRelu", ["a"], ["y"], alpha=0.1)], WEIGHTS, ["y"])
    assert keep_blocked(graph) == 0


def test_a_division_becomes_the_convolutions_factor() -> None:
    nodes = [
        CONVOLVED,
        ADDED,
        helper.make_node("Div", ["b", "three"], ["c"]),
        helper.make_node("LeakyRelu", ["c"], ["y"]),
    ]
    graph = model(nodes, WEIGHTS, ["y"])
    before = run(graph, 30)
    keep_blocked(graph)
    assert "Div" not in [node.op_type for node in graph.graph.node]
    assert "three" not in [weight.name for weight in graph.graph.initializer]
    assert same(before, run(graph, 30))


def test_a_division_that_others_read_stays() -> None:
    nodes = [
        CONVOLVED,
        ADDED,
        helper.make_node("Div", ["b", "three"], ["c"]),
        helper.make_node("LeakyRelu", ["c"], ["y"]),
    ]
    graph = model(nodes, WEIGHTS, ["y", "c"])
    before = run(graph, 30)
    keep_blocked(graph)
    assert same(before, run(graph, 30))


def test_a_transposed_convolution_is_followed_by_one() -> None:
    graph = model(
        [helper.make_node("ConvTranspose", ["x", "up"], ["y"], strides=[1, 4])], {"up": (16, 32, 1, 8)}, ["y"]
    )
    before = run(graph, 30)
    assert keep_blocked(graph) == 1
    assert same(before, run(graph, 30))


def test_channels_that_fill_no_block_are_left_alone() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("Add", ["a", "a"], ["b"]),
        helper.make_node("LeakyRelu", ["b"], ["y"]),
    ]
    assert keep_blocked(model(nodes, {"w": (12, 16, 1, 3)}, ["y"])) == 0
