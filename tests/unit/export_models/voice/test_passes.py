"""The passes over a whole voice, and each over small graphs that are run before and after it."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from scripts.export_models import voice_passes
from scripts.export_models.checkpoints import SourceError
from scripts.export_models.onnx_graph import Array
from scripts.export_models.voice import open_session
from scripts.export_models.voice_passes import PASSES, as_nchw, in_tiles, rewrite

CHANNELS = 16


def _said(model: onnx.ModelProto) -> Array:
    inputs = {"input": np.arange(1, 41)[None], "input_lengths": np.array([40])}
    return open_session(model.SerializeToString(), 1)({**inputs, "scales": np.array([0, 1, 0], np.float32)})


def test_no_pass_changes_the_sound(source: Path) -> None:
    model = onnx.load(source)
    before = _said(model)
    for each in PASSES:
        each.run(model)
        assert np.abs(_said(model) - before).max() < 1e-6, each.name


def test_each_pass_rewrites_all_parts_of_a_voice(source: Path) -> None:
    model = onnx.load(source)
    found = {}
    for each in PASSES:
        found[each.name] = each.found(model)
        each.run(model)
    # 15 activations are behind a sum or an upsampling, and take two convolutions each.
    assert found == {"NCHW": 76, "tiles": 3}


def _upsampling(model: onnx.ModelProto) -> onnx.NodeProto:
    return next(node for node in model.graph.node if node.op_type == "ConvTranspose")


def test_a_voice_whose_upsampling_is_of_another_kind_is_refused(source: Path) -> None:
    model = onnx.load(source)
    node = _upsampling(model)
    pads = next(attribute for attribute in node.attribute if attribute.name == "pads")
    pads.ints[:] = [pads.ints[0] + 1, pads.ints[1]]
    with pytest.raises(SourceError, match="the pass 'tiles' rewrote 2 of the graph's 3 upsampling stages"):
        rewrite(model)


def test_a_voice_whose_kernels_are_computed_is_refused(source: Path) -> None:
    model = onnx.load(source)
    node = _upsampling(model)
    model.graph.node.insert(0, helper.make_node("Identity", [node.input[1]], ["computed"]))
    _upsampling(model).input[1] = "computed"
    with pytest.raises(SourceError, match="the pass 'NCHW' rewrote 75 of the graph's 76 convolutions"):
        rewrite(model)


def _model(
    nodes: list[onnx.NodeProto], weights: dict[str, tuple[int, ...]], outputs: list[str], shape: list[int | None]
) -> onnx.ModelProto:
    """``x`` of that shape in; weights are random, those without a shape are 3."""
    rng = np.random.default_rng(1)
    values = {
        name: (rng.normal(size=size) / 8 if size else np.array(3.0)).astype(np.float32)
        for name, size in weights.items()
    }
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * len(shape)) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _run(given: onnx.ModelProto, *shape: int) -> list[Array]:
    onnx.checker.check_model(given)
    session = ort.InferenceSession(given.SerializeToString(), providers=["CPUExecutionProvider"])
    answers: list[Array] = session.run(None, {"x": np.random.default_rng(2).normal(size=shape).astype(np.float32)})
    return answers


def _same(one: list[Array], other: list[Array]) -> bool:
    return all(a.shape == b.shape and np.allclose(a, b, atol=1e-5) for a, b in zip(one, other, strict=True))


# Sequences as images


def _sequence(nodes: list[onnx.NodeProto], weights: dict[str, tuple[int, ...]], outputs: list[str]) -> onnx.ModelProto:
    """``x`` [1, 4, time] in."""
    return _model(nodes, weights, outputs, [1, 4, None])


def _rewritten(model: onnx.ModelProto) -> int:
    """Rewrite, compare, and answer how many convolutions there were."""
    before = _run(model, 1, 4, 30)
    count = as_nchw(model)
    assert _same(before, _run(model, 1, 4, 30))
    return count


@pytest.mark.parametrize(
    "attributes",
    [{}, {"pads": [2, 1]}, {"dilations": [3]}, {"strides": [2]}, {"group": 2}, {"auto_pad": "SAME_UPPER"}],
    ids=str,
)
def test_a_convolution_gives_the_rewritten(attributes: dict[str, object]) -> None:
    channels = 2 if "group" in attributes else 4
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], **attributes)
    assert _rewritten(_sequence([node], {"w": (6, channels, 3), "b": (6,)}, ["y"])) == 1


def test_a_transposed_convolution_gives_the_rewritten() -> None:
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[4], pads=[2, 2], output_padding=[1])
    assert _rewritten(_sequence([node], {"w": (4, 6, 8)}, ["y"])) == 1


def test_tensors_between_convolutions_stay_wide() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1]),
        helper.make_node("LeakyRelu", ["a"], ["b"], alpha=0.1),
        helper.make_node("Conv", ["b", "w"], ["c"], pads=[1, 1]),
        helper.make_node("Add", ["c", "a"], ["d"]),
        helper.make_node("Div", ["d", "three"], ["e"]),
        helper.make_node("Tanh", ["e"], ["y"]),
    ]
    model = _sequence(nodes, {"w": (4, 4, 3), "three": ()}, ["y"])
    assert _rewritten(model) == 2
    kinds = [node.op_type for node in model.graph.node]
    assert (kinds.count("Unsqueeze"), kinds.count("Squeeze")) == (1, 1)


def test_other_nodes_read_the_narrow_form() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("Add", ["a", "bias"], ["b"]),
        helper.make_node("Transpose", ["a"], ["t"], perm=[0, 2, 1]),
    ]
    assert _rewritten(_sequence(nodes, {"w": (4, 4, 3), "bias": (1, 4, 1)}, ["b", "t", "a"])) == 1


def test_subgraphs_may_read_the_output_of_a_convolution() -> None:
    branch = helper.make_graph(
        [helper.make_node("Neg", ["a"], ["inner"])],
        "branch",
        [],
        [helper.make_tensor_value_info("inner", TensorProto.FLOAT, [None] * 3)],
    )
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("Constant", [], ["yes"], value=numpy_helper.from_array(np.array(True))),
        helper.make_node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch),
    ]
    assert _rewritten(_sequence(nodes, {"w": (4, 4, 3)}, ["y"])) == 1


def test_a_model_without_convolutions_is_left_as_it_is() -> None:
    model = _sequence([helper.make_node("Neg", ["x"], ["y"])], {}, ["y"])
    before = model.SerializeToString()
    assert as_nchw(model) == 0
    assert model.SerializeToString() == before


# Tiles


def _image(nodes: list[onnx.NodeProto], weights: dict[str, tuple[int, ...]], outputs: list[str]) -> onnx.ModelProto:
    """``x`` [1, 16, 1, time] in."""
    return _model(nodes, weights, outputs, [1, CHANNELS, 1, None])


def _of(given: onnx.ModelProto, length: int) -> list[Array]:
    return _run(given, 1, CHANNELS, 1, length)


WEIGHTS = {"up": (16, 16, 1, 8), "w": (16, 16, 1, 3), "last": (1, 16, 1, 7), "b": (16,), "row": (1, 1, 1, 120)}
UP = helper.make_node("ConvTranspose", ["x", "up", "b"], ["a"], strides=[1, 4], pads=[0, 2, 0, 2])
ACTIVE = helper.make_node("LeakyRelu", ["a"], ["c"], alpha=0.1)
WIDE = helper.make_node("Conv", ["c", "w", "b"], ["d"], dilations=[1, 6], pads=[0, 6, 0, 6])
ADDED = helper.make_node("Add", ["d", "a"], ["e"])
LAST = helper.make_node("Conv", ["e", "last"], ["f"], pads=[0, 3, 0, 3])
OUT = helper.make_node("Tanh", ["f"], ["y"])


def _vocoder(*nodes: onnx.NodeProto, outputs: tuple[str, ...] = ("y",)) -> onnx.ModelProto:
    return _image(list(nodes), WEIGHTS, list(outputs))


@pytest.fixture
def _short_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(voice_passes, "_SAMPLES", 40)


@pytest.mark.usefixtures("_short_tiles")
@pytest.mark.parametrize("length", [1, 2, 9, 10, 11, 20, 57])
def test_a_stage_gives_the_same_at_any_length(length: int) -> None:
    graph = _vocoder(UP, ACTIVE, WIDE, ADDED, LAST, OUT)
    before = _of(graph, length)
    assert in_tiles(graph) == 1
    assert _same(before, _of(graph, length))


@pytest.mark.usefixtures("_short_tiles")
def test_each_stage_is_a_loop_of_its_own() -> None:
    again = helper.make_node("ConvTranspose", ["e", "up"], ["y"], strides=[1, 4], pads=[0, 2, 0, 2])
    graph = _vocoder(UP, ACTIVE, WIDE, ADDED, again)
    before = _of(graph, 30)
    assert in_tiles(graph) == 2
    assert _same(before, _of(graph, 30))


@pytest.mark.usefixtures("_short_tiles")
def test_a_convolution_may_read_only_later_samples() -> None:
    ahead = helper.make_node("Conv", ["a", "w", "b"], ["y"], dilations=[1, 9], pads=[0, 0, 0, 18])
    graph = _vocoder(UP, ahead)
    before = _of(graph, 30)
    assert in_tiles(graph) == 1
    assert _same(before, _of(graph, 30))


@pytest.mark.usefixtures("_short_tiles")
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
    before = _of(graph, 30)
    in_tiles(graph)
    assert _same(before, _of(graph, 30))


@pytest.mark.usefixtures("_short_tiles")
def test_a_stage_whose_middle_is_read_stays() -> None:
    assert in_tiles(_vocoder(UP, ACTIVE, WIDE, ADDED, LAST, OUT, outputs=("y", "d"))) == 0


@pytest.mark.usefixtures("_short_tiles")
def test_an_upsampling_that_adds_samples_stays() -> None:
    assert in_tiles(_vocoder(helper.make_node("ConvTranspose", ["x", "up"], ["y"], strides=[1, 4]))) == 0
