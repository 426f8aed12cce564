import onnx
import pytest
from onnx import helper

from scripts.export_models.voices import stretches
from scripts.export_models.voices.stretches import in_stretches
from tests.unit.export_models.voices.pictures import model, run, same

WEIGHTS = {"up": (16, 16, 1, 8), "w": (16, 16, 1, 3), "last": (1, 16, 1, 7), "b": (16,), "row": (1, 1, 1, 120)}
UP = helper.make_node("ConvTranspose", ["x", "up", "b"], ["a"], strides=[1, 4], pads=[0, 2, 0, 2])
ACTIVE = helper.make_node("LeakyRelu", ["a"], ["c"], alpha=0.1)
WIDE = helper.make_node("Conv", ["c", "w", "b"], ["d"], dilations=[1, 6], pads=[0, 6, 0, 6])
ADDED = helper.make_node("Add", ["d", "a"], ["e"])
LAST = helper.make_node("Conv", ["e", "last"], ["f"], pads=[0, 3, 0, 3])
OUT = helper.make_node("Tanh", ["f"], ["y"])


def _vocoder(*nodes: onnx.NodeProto, outputs: tuple[str, ...] = ("y",)) -> onnx.ModelProto:
    return model(list(nodes), WEIGHTS, list(outputs))


@pytest.fixture(autouse=True)
def _short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "_SAMPLES", 40)


@pytest.mark.parametrize("length", [1, 2, 9, 10, 11, 20, 57])
def test_a_stage_gives_the_same_at_any_length(length: int) -> None:
    graph = _vocoder(UP, ACTIVE, WIDE, ADDED, LAST, OUT)
    before = run(graph, length)
    assert in_stretches(graph) == 1
    assert same(before, run(graph, length))


def test_each_stage_is_a_loop_of_its_own() -> None:
    again = helper.make_node("ConvTranspose", ["e", "up"], ["y"], strides=[1, 4], pads=[0, 2, 0, 2])
    graph = _vocoder(UP, ACTIVE, WIDE, ADDED, again)
    before = run(graph, 30)
    assert in_stretches(graph) == 2
    assert same(before, run(graph, 30))


def test_a_convolution_may_read_only_later_samples() -> None:
    ahead = helper.make_node("Conv", ["a", "w", "b"], ["y"], dilations=[1, 9], pads=[0, 0, 0, 18])
    graph = _vocoder(UP, ahead)
    before = run(graph, 30)
    assert in_stretches(graph) == 1
    assert same(before, run(graph, 30))


@pytest.mark.parametrize(
    "nodes",
    [
        [helper.make_node("Conv", ["a", "w"], ["y"], strides=[1, 2], pads=[0, 1, 0, 1])],
        [helper.make_node("ReduceMean", ["a"], ["m"]), helper.make_node("Sub", ["a", "m"], ["y"])],
        [helper.make_node("Mul", ["a", "row"], ["y"])],
    ],
    ids=["another length", "all samples", "its place"],
)
def test_nodes_that_read_more_than_their_neighbours_stay_outside(nodes: list[onnx.NodeProto]) -> None:
    graph = _vocoder(UP, *nodes)
    before = run(graph, 30)
    in_stretches(graph)
    assert same(before, run(graph, 30))


def test_a_stage_whose_middle_is_read_stays() -> None:
    assert in_stretches(_vocoder(UP, ACTIVE, WIDE, ADDED, LAST, OUT, outputs=("y", "d"))) == 0


def test_an_upsampling_that_adds_samples_stays() -> None:
    assert in_stretches(_vocoder(helper.make_node("ConvTranspose", ["x", "up"], ["y"], strides=[1, 4]))) == 0
