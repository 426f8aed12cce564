"""The passes over Kokoro's graph, each over small graphs that are run before and after it."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.kokoro.passes import (
    activations,
    adaptive_norms,
    as_nchw,
    by_convolution,
    doubled,
    doubled_by_joining,
    in_integers,
    plain,
    rewrite,
    squared_sines,
    vocoder_convolutions,
)
from tests.unit.export_models.kokoro.small import Array, kinds, model, node, random, run

CHANNELS = 4
_LAYER = "/decoder/decoder/generator/resblocks.3/convs2.1/Conv_output_0"


def test_another_graph_is_refused() -> None:
    model = helper.make_model(helper.make_graph([], "test", [], []))
    with pytest.raises(SourceError, match="the pass 'plain' rewrote 0 of the graph's 0 integer layers"):
        rewrite(model)


# Plain layers


def _integers(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).integers(0, 127, shape).astype(np.uint8)


def _integer_convolution(last: str = "Cast") -> onnx.ModelProto:
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
    given, x = _integer_convolution(), random(1, 8, 20, seed=2)
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
    # With larger weights, processors that have AVX2 alone overflow.
    integers = {name: _integers(1, *shape).astype(np.int8) // 2 for name, shape in {"w": (3, 16), "r": (4, 16)}.items()}
    scales = {name: np.array([0.02], np.float32) for name in ("ws", "rs")}
    zeros = {name: np.array([0], np.int8) for name in ("wz", "rz")}
    given = model([lstm], {"x": ["n", 1, 3]}, ["y"], {**integers, "b": random(1, 32), **scales, **zeros})
    x = random(6, 1, 3, seed=3)
    (before,) = run(given, x=x)
    assert plain(given) == 1
    assert kinds(given) == ["LSTM"]
    assert np.abs(run(given, x=x)[0] - before).max() < 0.02 < np.abs(before).max()


def test_an_integer_layer_of_another_form_is_left() -> None:
    given = _integer_convolution("Identity")
    assert plain(given) == 0
    assert "ConvInteger" in kinds(given)


# Adaptive norms


def _normed(factors: tuple[float, ...] = (0.5, 1.0, -1.5, 2.0)) -> onnx.ModelProto:
    """Two adaptive norms as the published graph makes them, the second with an activation.

    ``x`` [1, 4, n] and ``style`` [1, 3]; ``y`` is the norm of ``x``, ``z`` is the activated one of ``y``.
    """
    nodes = [*_norm("x", "y"), *_norm("y", "z_norm")]
    nodes += [
        node("Mul", ["factor", "z_norm"], ["angle"]),
        node("Sin", ["angle"], ["sine"]),
        node("Pow", ["sine", "two"], ["square"]),
        node("Mul", ["inverse", "square"], ["wave"]),
        node("Add", ["z_norm", "wave"], ["z"]),
    ]
    factor = np.array(factors, np.float32).reshape(1, CHANNELS, 1)
    weights = {"factor": factor, "inverse": 1 / factor, "two": np.float32(2), "one": np.float32(1)}
    weights |= {"axis": np.array([2]), "sizes": np.array([CHANNELS] * 2)}
    for at, name in enumerate(("y", "z_norm")):
        weights |= {f"{name}_w": random(3, 2 * CHANNELS, seed=at), f"{name}_b": random(2 * CHANNELS, seed=at + 2)}
    return model(nodes, {"x": [1, CHANNELS, "n"], "style": [1, 3]}, ["y", "z"], weights)


def _norm(x: str, y: str) -> list[onnx.NodeProto]:
    return [
        node("MatMul", ["style", f"{y}_w"], [f"{y}_product"]),
        node("Add", [f"{y}_product", f"{y}_b"], [f"{y}_row"]),
        node("Unsqueeze", [f"{y}_row", "axis"], [f"{y}_column"]),
        node("Split", [f"{y}_column", "sizes"], [f"{y}_grown", f"{y}_shift"], axis=1),
        node("Add", [f"{y}_grown", "one"], [f"{y}_scale"]),
        node("Mul", [f"{y}_scale", x], [f"{y}_scaled"]),
        node("Add", [f"{y}_scaled", f"{y}_shift"], [y]),
    ]


def test_one_convolution_makes_the_scales_and_shifts_of_all_norms() -> None:
    given, inputs = _normed(), {"x": random(1, CHANNELS, 9), "style": random(1, 3, seed=5)}
    before = run(given, **inputs)
    assert adaptive_norms(given) == 2
    assert by_convolution(given) == 2
    assert (kinds(given).count("Conv"), kinds(given).count("MatMul")) == (1, 0)
    assert all(np.allclose(one, other, atol=1e-5) for one, other in zip(before, run(given, **inputs), strict=True))


def test_a_norm_whose_scales_are_not_increased_by_one_is_left() -> None:
    given = _normed()
    one = next(weight for weight in given.graph.initializer if weight.name == "one")
    one.CopyFrom(numpy_helper.from_array(np.array(2, np.float32), "one"))
    assert adaptive_norms(given) == 2
    assert by_convolution(given) == 0


# Periodic activations


def _activated(factors: tuple[float, ...] = (0.5, 1.0, -1.5, 2.0)) -> onnx.ModelProto:
    given = _normed(factors)
    by_convolution(given)
    return given


@pytest.mark.parametrize("factors", [(0.5, 1.0, -1.5, 2.0), (0.02, -0.01, 0.3, 1.0)], ids=["usual", "small"])
def test_an_activation_gives_the_same_without_sines(factors: tuple[float, ...]) -> None:
    given, inputs = _activated(factors), {"x": 3 * random(1, CHANNELS, 200), "style": random(1, 3, seed=5)}
    before = run(given, **inputs)
    assert squared_sines(given) == 1
    assert activations(given) == 1
    assert "Sin" not in kinds(given)
    assert all(np.allclose(one, other, atol=0.01) for one, other in zip(before, run(given, **inputs), strict=True))


def test_a_channel_with_almost_no_wave_keeps_its_values() -> None:
    given, inputs = _activated((1e-5, 1.0, 1.0, 1.0)), {"x": random(1, CHANNELS, 200), "style": random(1, 3, seed=5)}
    before = run(given, **inputs)
    assert activations(given) == 1
    assert np.allclose(run(given, **inputs)[1], before[1], rtol=0.05, atol=0.05)


def test_a_sine_that_is_not_squared_stays() -> None:
    given = model([node("Sin", ["x"], ["y"])], {"x": ["n"]}, ["y"], {})
    assert (squared_sines(given), activations(given)) == (0, 0)


def test_an_activation_behind_no_norm_is_left() -> None:
    given = _activated()
    given.graph.node[-5].input[1] = "x"
    given.graph.node[-1].input[0] = "x"
    assert (squared_sines(given), activations(given)) == (1, 0)


# Doubled sequences


def _resized(factor: float) -> onnx.ModelProto:
    attributes = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
    resize = node("Resize", ["x", "", "scales"], ["y"], **attributes)
    return model([resize], {"x": [1, 4, "n"]}, ["y"], {"scales": np.array([1, 1, factor], np.float32)})


def test_each_sample_comes_twice() -> None:
    given, x = _resized(2), random(1, 4, 7)
    before = run(given, x=x)
    assert (doubled(given), doubled_by_joining(given)) == (1, 1)
    assert "Resize" not in kinds(given)
    assert np.array_equal(before, run(given, x=x))


def test_other_lengths_stay() -> None:
    assert doubled_by_joining(_resized(300)) == 0


# Sequences as images


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
def test_nodes_between_convolutions_stay_in_nchw(nodes: list[onnx.NodeProto]) -> None:
    given, x = _between(*nodes), random(1, 4, 9)
    before = run(given, x=x)
    assert as_nchw(given) == 2
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
    assert as_nchw(given) == 2
    assert kinds(given).count("Unsqueeze") == 2
    assert np.allclose(before, run(given, x=x), atol=1e-5)


# The vocoder in integers


def _weight(largest: int = 100) -> Array:
    values = np.random.default_rng(1).integers(-largest, largest + 1, (4, 8, 1, 3))
    return (values * np.float32(0.0123)).astype(np.float32)


def _convolution(weight: Array, name: str = _LAYER) -> onnx.ModelProto:
    conv = node("Conv", ["x", "w", "b"], ["y"], name, kernel_shape=[1, 3], pads=[0, 1, 0, 1])
    return model([conv], {"x": [1, 8, 1, "n"]}, ["y"], {"w": weight, "b": random(4)})


def test_a_convolution_of_the_vocoder_reads_8_bit_integers() -> None:
    given, x = _convolution(_weight()), random(1, 8, 1, 30)
    (before,) = run(given, x=x)
    assert (vocoder_convolutions(given), in_integers(given)) == (1, 1)
    assert kinds(given) == ["QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv"]
    assert 0 < np.abs(run(given, x=x)[0] - before).max() < 0.05 * np.abs(before).max()


def test_the_weights_are_the_published_integers() -> None:
    given = _convolution(_weight())
    in_integers(given)
    (kept,) = (onnx.numpy_helper.to_array(each) for each in given.graph.initializer if each.name.startswith("y_int8"))
    assert np.array_equal(kept, np.round(_weight() / np.float32(0.0123)))


def test_values_beyond_the_range_are_cut() -> None:
    given = _convolution(_weight())
    in_integers(given)
    high, higher = (run(given, x=np.full((1, 8, 1, 5), value))[0] for value in (9.0, 90.0))
    assert np.array_equal(high, higher)


@pytest.mark.parametrize("largest", [1000, 128], ids=["many", "one more"])
def test_weights_of_more_than_8_bits_are_left(largest: int) -> None:
    weight = _weight(largest)
    weight[0, 0, 0] = [largest * np.float32(0.0123), 0, 0.0123]
    given = _convolution(weight)
    assert (vocoder_convolutions(given), in_integers(given)) == (1, 0)


def test_other_convolutions_stay() -> None:
    given = _convolution(_weight(), "/decoder/decoder/generator/conv_post/Conv_output_0")
    assert (vocoder_convolutions(given), in_integers(given)) == (0, 0)
