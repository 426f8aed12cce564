import pytest
from onnx import helper

from scripts.export_models.voices.phases import in_phases
from tests.unit.export_models.voices.pictures import model, run, same

WEIGHTS = {"w": (1, 16, 1, 7), "b": (1,)}


@pytest.mark.parametrize("length", [1, 15, 16, 17, 100])
@pytest.mark.parametrize("pads", [[0, 3, 0, 3], [0, 0, 0, 6]], ids=str)
def test_one_channel_gives_the_same_at_any_length(length: int, pads: list[int]) -> None:
    graph = model([helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=pads)], WEIGHTS, ["y"])
    before = run(graph, length)
    assert in_phases(graph) == 1
    assert same(before, run(graph, length))


@pytest.mark.parametrize(
    ("attributes", "shape"),
    [
        ({"pads": [0, 3, 0, 3]}, (2, 16, 1, 7)),
        ({"pads": [0, 3, 0, 3], "strides": [1, 2]}, (1, 16, 1, 7)),
        ({"pads": [0, 6, 0, 6], "dilations": [1, 2]}, (1, 16, 1, 7)),
        ({}, (1, 16, 1, 7)),
    ],
    ids=["two channels", "stride", "gaps", "fewer samples"],
)
def test_others_are_left_alone(attributes: dict[str, list[int]], shape: tuple[int, ...]) -> None:
    assert in_phases(model([helper.make_node("Conv", ["x", "w"], ["y"], **attributes)], {"w": shape}, ["y"])) == 0


def test_weights_that_nobody_reads_any_more_are_left_out() -> None:
    graph = model([helper.make_node("Conv", ["x", "w"], ["y"], pads=[0, 3, 0, 3])], {"w": (1, 16, 1, 7)}, ["y"])
    in_phases(graph)
    assert "w" not in [weight.name for weight in graph.graph.initializer]
