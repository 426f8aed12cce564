"""Convolutions over time as convolutions over pictures of height one."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from scripts.export_models.voices.pictures import as_pictures

RNG = np.random.default_rng(1)


def _model(nodes: list[onnx.NodeProto], weights: dict[str, tuple[int, ...]], outputs: list[str]) -> onnx.ModelProto:
    """``x`` [1, 4, time] in; weights are random, those without a shape are 3."""
    values = {
        name: (RNG.normal(size=shape) if shape else np.array(3.0)).astype(np.float32) for name, shape in weights.items()
    }
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, None])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * 3) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _run(model: onnx.ModelProto) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    onnx.checker.check_model(model)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    answers: list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]] = session.run(
        None, {"x": np.random.default_rng(2).normal(size=(1, 4, 30)).astype(np.float32)}
    )
    return answers


def _same(model: onnx.ModelProto) -> int:
    """Rewrite, compare, and answer how many convolutions there were."""
    before = _run(model)
    count = as_pictures(model)
    after = _run(model)
    assert [array.shape for array in after] == [array.shape for array in before]
    assert all(np.allclose(*pair, atol=1e-5) for pair in zip(before, after, strict=True))
    return count


@pytest.mark.parametrize(
    "attributes",
    [{}, {"pads": [2, 1]}, {"dilations": [3]}, {"strides": [2]}, {"group": 2}, {"auto_pad": "SAME_UPPER"}],
    ids=str,
)
def test_a_convolution_gives_the_same(attributes: dict[str, object]) -> None:
    channels = 2 if "group" in attributes else 4
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], **attributes)
    assert _same(_model([node], {"w": (6, channels, 3), "b": (6,)}, ["y"])) == 1


def test_a_transposed_convolution_gives_the_same() -> None:
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[4], pads=[2, 2], output_padding=[1])
    assert _same(_model([node], {"w": (4, 6, 8)}, ["y"])) == 1


def test_tensors_between_convolutions_stay_wide() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1]),
        helper.make_node("LeakyRelu", ["a"], ["b"], alpha=0.1),
        helper.make_node("Conv", ["b", "w"], ["c"], pads=[1, 1]),
        helper.make_node("Add", ["c", "a"], ["d"]),
        helper.make_node("Div", ["d", "three"], ["e"]),
        helper.make_node("Tanh", ["e"], ["y"]),
    ]
    model = _model(nodes, {"w": (4, 4, 3), "three": ()}, ["y"])
    assert _same(model) == 2
    kinds = [node.op_type for node in model.graph.node]
    assert (kinds.count("Unsqueeze"), kinds.count("Squeeze")) == (1, 1)


def test_other_nodes_read_the_narrow_form() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("Add", ["a", "bias"], ["b"]),
        helper.make_node("Transpose", ["a"], ["t"], perm=[0, 2, 1]),
    ]
    assert _same(_model(nodes, {"w": (4, 4, 3), "bias": (1, 4, 1)}, ["b", "t", "a"])) == 1


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
    assert _same(_model(nodes, {"w": (4, 4, 3)}, ["y"])) == 1


def test_a_model_without_convolutions_is_left_as_it_is() -> None:
    model = _model([helper.make_node("Neg", ["x"], ["y"])], {}, ["y"])
    before = model.SerializeToString()
    assert as_pictures(model) == 0
    assert model.SerializeToString() == before
