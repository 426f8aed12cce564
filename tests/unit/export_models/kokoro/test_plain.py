import numpy as np
import onnx

from scripts.export_models.kokoro.plain import plain
from tests.unit.export_models.kokoro.small import Array, kinds, model, node, random, run


def _integers(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).integers(0, 127, shape).astype(np.uint8)


def _convolution(last: str = "Cast") -> onnx.ModelProto:
    """A convolution as the published graph has it: the bias is quantised with the activation's scale."""
    cast = [node(last, ["summed"], ["cast"], **({"to": 1} if last == "Cast" else {}))]
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node("Mul", ["s", "scale"], ["both"]),
        node("Div", ["bias", "both"], ["divided"]),
        node("Floor", ["divided"], ["floor"]),
        node("Cast", ["floor"], ["whole"], to=6),
        node("Reshape", ["whole", "shape"], ["shaped"]),
        node("ConvInteger", ["q", "w", "z", "wz"], ["product"], pads=[1, 1], kernel_shape=[3]),
        node("Add", ["product", "shaped"], ["summed"]),
        *cast,
        node("Mul", ["cast", "both"], ["y"]),
    ]
    weights = {
        "w": _integers(4, 8, 3),
        "wz": np.uint8(60),
        "scale": np.float32(0.01),
        "bias": 3 * random(4),
        "shape": np.array([1, -1, 1]),
    }
    return model(nodes, {"x": [1, 8, "n"]}, ["y"], weights)


def _product(*outputs: str) -> onnx.ModelProto:
    """Products with the same weights."""
    nodes = [node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), node("Mul", ["s", "scale"], ["both"])]
    for y in outputs:
        nodes += [
            node("MatMulInteger", ["q", "w", "z", "wz"], [f"{y}_product"]),
            node("Cast", [f"{y}_product"], [f"{y}_cast"], to=1),
            node("Mul", [f"{y}_cast", "both"], [y]),
        ]
    weights = {"w": _integers(8, 4), "wz": np.array([60] * 4, np.uint8), "scale": np.abs(random(4)) / 100}
    return model(nodes, {"x": [1, "n", 8]}, outputs, weights)


def test_an_integer_convolution_becomes_a_plain_one_with_its_bias() -> None:
    given, x = _convolution(), random(1, 8, 20, seed=2)
    (before,) = run(given, x=x)
    assert plain(given) == 1
    assert kinds(given) == ["Conv"]
    assert np.abs(run(given, x=x)[0] - before).max() < 0.1 < np.abs(before).max()


def test_an_integer_product_becomes_a_plain_one() -> None:
    given, x = _product("y"), random(1, 5, 8, seed=2)
    (before,) = run(given, x=x)
    assert plain(given) == 1
    assert kinds(given) == ["MatMul"]
    assert np.abs(run(given, x=x)[0] - before).max() < 0.1 < np.abs(before).max()


def test_layers_with_the_same_weights_share_them() -> None:
    given = _product("y", "z")
    assert plain(given) == 2
    assert len(given.graph.initializer) == 1


def test_an_integer_lstm_becomes_a_plain_one() -> None:
    names = ["x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"]
    lstm = onnx.helper.make_node("DynamicQuantizeLSTM", names, ["y"], domain="com.microsoft", hidden_size=4)
    integers = {"w": _integers(1, 3, 16).astype(np.int8), "r": _integers(1, 4, 16, seed=2).astype(np.int8)}
    scales = {name: np.array([0.01], np.float32) for name in ("ws", "rs")}
    zeros = {name: np.array([0], np.int8) for name in ("wz", "rz")}
    given = model([lstm], {"x": ["n", 1, 3]}, ["y"], {**integers, "b": random(1, 32), **scales, **zeros})
    x = random(6, 1, 3, seed=3)
    (before,) = run(given, x=x)
    assert plain(given) == 1
    assert kinds(given) == ["LSTM"]
    assert np.abs(run(given, x=x)[0] - before).max() < 0.02 < np.abs(before).max()


def test_an_integer_layer_of_another_form_is_left() -> None:
    given = _convolution("Identity")
    assert plain(given) == 0
    assert "ConvInteger" in kinds(given)
