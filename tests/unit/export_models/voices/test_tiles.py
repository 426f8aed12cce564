"""Small graphs over a sound of 96 channels, run before and after they are rewritten."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from scripts.export_models.graphs.rewriting import drop_unused
from scripts.export_models.voices.tiles import in_tiles

CHANNELS = 96
WEIGHTS = {
    "w": (CHANNELS, CHANNELS, 5),
    "short": (CHANNELS, CHANNELS, 3),
    "one": (CHANNELS, CHANNELS, 1),
    "b": (CHANNELS,),
    "each": (CHANNELS, 1),
    "number": (),
}
NUMBERS = {"channels": [1], "all": [CHANNELS], "first": [0], "half": [CHANNELS // 2], "ends": [0], "halves": [48, 48]}
BIASED = helper.make_node("Conv", ["x", "w", "b"], ["a"], pads=[2, 2])
AGAIN = helper.make_node("Conv", ["a", "w", "b"], ["y"], pads=[2, 2])
LAST = helper.make_node("Conv", ["c", "w", "b"], ["y"], pads=[2, 2])

Answers = list[NDArray[np.float32]]


def _model(nodes: list[onnx.NodeProto], outputs: list[str]) -> onnx.ModelProto:
    """``x`` [1, 96, time], ``mask`` [1, 1, time] and ``speaker`` [1, 96, 1] in."""
    rng = np.random.default_rng(1)
    weights = [
        numpy_helper.from_array((rng.normal(size=shape) / 16).astype(np.float32), name)
        for name, shape in WEIGHTS.items()
    ]
    numbers = [numpy_helper.from_array(np.array(value, np.int64), name) for name, value in NUMBERS.items()]
    graph = helper.make_graph(
        [helper.make_node("Cast", ["given_mask"], ["mask"], to=TensorProto.FLOAT), *nodes],
        "test",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, CHANNELS, "time"]),
            helper.make_tensor_value_info("given_mask", TensorProto.BOOL, [1, 1, "time"]),
            helper.make_tensor_value_info("speaker", TensorProto.FLOAT, [1, CHANNELS, 1]),
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        weights + numbers,
    )
    drop_unused(graph)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _run(model: onnx.ModelProto, length: int) -> Answers:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(2)
    x = rng.normal(size=(1, CHANNELS, length)).astype(np.float32)
    speaker = rng.normal(size=(1, CHANNELS, 1)).astype(np.float32)
    inputs = {"x": x, "given_mask": rng.random((1, 1, length)) < 0.8, "speaker": speaker}
    answers: Answers = session.run(None, inputs)
    return answers


def _rewritten(nodes: list[onnx.NodeProto], outputs: list[str], convolutions: int) -> list[str]:
    """Rewrite, compare at lengths that fill their last tile and not, and answer the kinds of the nodes."""
    model = _model(nodes, outputs)
    lengths = (1, 4, 5, 30)
    before = [_run(model, length) for length in lengths]
    assert in_tiles(model) == convolutions
    for length, answers in zip(lengths, before, strict=True):
        for one, other in zip(answers, _run(model, length), strict=True):
            assert one.shape == other.shape
            assert np.allclose(one, other, atol=1e-5 * max(1, np.abs(one).max()))
    return [node.op_type for node in model.graph.node]


@pytest.mark.parametrize("inputs", [["x", "w"], ["x", "w", "b"], ["x", "short", "b"]], ids=str)
def test_a_convolution_gives_the_same(inputs: list[str]) -> None:
    pads = [WEIGHTS[inputs[1]][2] // 2] * 2
    _rewritten([helper.make_node("Conv", inputs, ["y"], pads=pads)], ["y"], 1)


def test_what_a_bias_leaves_behind_the_end_is_not_heard_in_the_next() -> None:
    _rewritten([BIASED, AGAIN], ["y"], 2)


def test_a_mask_is_cut_with_the_sound() -> None:
    kinds = _rewritten([BIASED, helper.make_node("Mul", ["a", "mask"], ["c"]), LAST], ["y"], 2)
    assert "ConstantOfShape" not in kinds, "what it silences needs no silencing"


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("Relu", ["a"], ["c"]),
        helper.make_node("Exp", ["a"], ["c"]),
        helper.make_node("Add", ["a", "x"], ["c"]),
        helper.make_node("Mul", ["a", "each"], ["c"]),
        helper.make_node("Add", ["a", "speaker"], ["c"]),
        helper.make_node("Sub", ["number", "a"], ["c"]),
        helper.make_node("Div", ["a", "number"], ["c"]),
        helper.make_node("Conv", ["a", "one", "b"], ["c"]),
    ],
    ids=lambda node: f"{node.op_type} {' '.join(node.input)}",
)
def test_what_computes_sample_by_sample_stays_in_tiles(node: onnx.NodeProto) -> None:
    kinds = _rewritten([BIASED, node, LAST], ["y"], 2)
    assert kinds.count("Unsqueeze") == 1, "the output alone is laid out as it was"


@pytest.mark.parametrize(
    "nodes",
    [
        [
            helper.make_node("Slice", ["a", "first", "half", "channels"], ["left"]),
            helper.make_node("Slice", ["a", "half", "all", "channels"], ["right"]),
            helper.make_node("Concat", ["right", "left"], ["c"], axis=1),
        ],
        [
            helper.make_node("Split", ["a", "halves"], ["left", "right"], axis=1),
            helper.make_node("Concat", ["right", "left"], ["c"], axis=1),
        ],
        [
            helper.make_node("Shape", ["a"], ["shape"]),
            helper.make_node("ConstantOfShape", ["shape"], ["zeros"]),
            helper.make_node("Add", ["zeros", "a"], ["c"]),
        ],
    ],
    ids=["channels cut apart and put together", "channels split and put together", "zeros like a sound"],
)
def test_what_moves_no_sample_stays_in_tiles(nodes: list[onnx.NodeProto]) -> None:
    assert _rewritten([BIASED, *nodes, LAST], ["y"], 2).count("Unsqueeze") == 1


def test_a_shape_is_told_as_it_was() -> None:
    nodes = [
        BIASED,
        helper.make_node("Shape", ["a"], ["shape"]),
        helper.make_node("Cast", ["shape"], ["y"], to=TensorProto.FLOAT),
    ]
    _rewritten(nodes, ["y"], 1)


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("Slice", ["a", "first", "half", "ends"], ["y"]),
        helper.make_node("Transpose", ["a"], ["y"], perm=[0, 2, 1]),
        helper.make_node("Softmax", ["a"], ["y"], axis=2),
        helper.make_node("Concat", ["a", "x"], ["y"], axis=2),
    ],
    ids=lambda node: node.op_type,
)
def test_what_looks_along_time_reads_it_as_it_was(node: onnx.NodeProto) -> None:
    _rewritten([BIASED, node], ["y"], 1)


def test_an_output_in_the_middle_is_what_it_was() -> None:
    _rewritten([BIASED, AGAIN], ["a", "y"], 2)


@pytest.mark.parametrize(
    "attributes",
    [{"pads": [2, 1]}, {"pads": [4, 4], "dilations": [2]}, {"pads": [2, 2], "strides": [2]}, {}],
    ids=str,
)
def test_other_convolutions_are_left_alone(attributes: dict[str, list[int]]) -> None:
    assert in_tiles(_model([helper.make_node("Conv", ["x", "w"], ["y"], **attributes)], ["y"])) == 0


def test_what_follows_an_upsampling_is_left_alone() -> None:
    up = helper.make_node("ConvTranspose", ["x", "one"], ["a"])
    _rewritten([up, AGAIN], ["y"], 0)


def test_more_than_one_sound_in_a_batch_is_an_error() -> None:
    model = _model([BIASED], ["a"])
    for given in model.graph.input:
        given.type.tensor_type.shape.dim[0].dim_param = "batch"
    in_tiles(model)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    two = {"x": np.zeros((2, CHANNELS, 8), np.float32), "given_mask": np.ones((2, 1, 8), bool)}
    two["speaker"] = np.zeros((2, CHANNELS, 1), np.float32)
    with pytest.raises(Exception, match="cannot be reshaped"):
        session.run(None, two)
