import pytest
from onnx import helper

from scripts.export_models.voices.upsampling import interleaved
from tests.unit.export_models.voices.pictures import model, run, same


@pytest.mark.parametrize("length", [1, 2, 33])
@pytest.mark.parametrize(
    ("size", "attributes"),
    [
        (16, {"strides": [1, 8], "pads": [0, 4, 0, 4]}),
        (8, {"strides": [1, 4], "pads": [0, 0, 0, 4]}),
        (12, {"strides": [1, 4], "pads": [0, 5, 0, 3]}),
        (4, {"strides": [1, 4]}),
    ],
    ids=["two strides", "cut at the end", "three strides", "one stride"],
)
def test_a_transposed_convolution_gives_the_same_at_any_length(
    length: int, size: int, attributes: dict[str, list[int]]
) -> None:
    weights = {"w": (16, 32, 1, size), "b": (32,)}
    graph = model([helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], **attributes)], weights, ["y"])
    before = run(graph, length)
    assert interleaved(graph) == 1
    assert "ConvTranspose" not in [node.op_type for node in graph.graph.node]
    assert same(before, run(graph, length))


@pytest.mark.parametrize(
    ("attributes", "shape"),
    [
        ({"strides": [1, 3], "pads": [0, 2, 0, 3]}, (16, 32, 1, 8)),
        ({"strides": [1, 4]}, (16, 32, 1, 8)),
        ({"strides": [1, 4], "pads": [0, 2, 0, 2], "group": 2}, (16, 16, 1, 8)),
        ({"strides": [1, 4], "pads": [0, 4, 0, 4], "output_padding": [0, 4]}, (16, 32, 1, 8)),
        ({"strides": [1, 4], "dilations": [1, 2], "pads": [0, 2, 0, 2]}, (16, 32, 1, 8)),
    ],
    ids=["no whole strides", "longer", "groups", "samples added", "gaps"],
)
def test_other_transposed_convolutions_stay(attributes: dict[str, object], shape: tuple[int, ...]) -> None:
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], **attributes)
    assert interleaved(model([node], {"w": shape}, ["y"])) == 0
