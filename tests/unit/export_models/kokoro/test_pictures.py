import numpy as np
import onnx
import pytest

from scripts.export_models.kokoro.pictures import as_pictures
from tests.unit.export_models.kokoro.small import kinds, model, node, random, run


def _between(*nodes: onnx.NodeProto) -> onnx.ModelProto:
    """Nodes from ``a`` to ``b`` between two convolutions."""
    first = node("Conv", ["x", "w"], ["a"], kernel_shape=[3], pads=[1, 1])
    last = node("Conv", ["b", "v"], ["y"], kernel_shape=[1])
    weights = {"w": random(4, 4, 3), "v": random(2, 4, 1), "v8": random(2, 8, 1), "two": np.float32(2)}
    weights |= {"channels": random(1, 4, 1), "axes": np.array([2]), "pads": np.array([0, 0, 1, 0, 0, 0])}
    weights |= {"sizes": np.array([2, 2]), "v2": random(2, 2, 1)}
    return model([first, *nodes, last], {"x": [1, 4, "n"]}, ["y"], weights)


@pytest.mark.parametrize(
    "nodes",
    [
        [node("Mul", ["a", "channels"], ["b"])],
        [node("Pow", ["a", "two"], ["b"])],
        [node("ReduceMean", ["a", "axes"], ["m"]), node("Sub", ["a", "m"], ["b"])],
        [node("Pad", ["a", "pads"], ["b"], mode="reflect")],
        [node("Split", ["a", "sizes"], ["c", "d"], axis=1), node("Concat", ["d", "c"], ["b"], axis=1)],
    ],
    ids=["a factor for each channel", "a power", "a mean over time", "a mirrored begin", "parts of the channels"],
)
def test_nodes_between_convolutions_stay_in_pictures(nodes: list[onnx.NodeProto]) -> None:
    given, x = _between(*nodes), random(1, 4, 9)
    before = run(given, x=x)
    assert as_pictures(given) == 2
    assert (kinds(given).count("Unsqueeze"), kinds(given).count("Squeeze")) == (1, 1)
    assert np.allclose(before, run(given, x=x), atol=1e-5)


@pytest.mark.parametrize(
    "nodes",
    [
        [node("ReduceMean", ["a", "first"], ["m"]), node("Sub", ["a", "m"], ["b"])],
        [node("Concat", ["a", "a"], ["b"], axis=2)],
        [node("Softmax", ["a"], ["b"], axis=1)],
    ],
    ids=["a mean over channels", "a join in time", "another node"],
)
def test_other_nodes_keep_their_form_and_give_the_same(nodes: list[onnx.NodeProto]) -> None:
    given, x = _between(*nodes), random(1, 4, 9)
    given.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1]), "first"))
    before = run(given, x=x)
    assert as_pictures(given) == 2
    assert kinds(given).count("Unsqueeze") == 2
    assert np.allclose(before, run(given, x=x), atol=1e-5)
