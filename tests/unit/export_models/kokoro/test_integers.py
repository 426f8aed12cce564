import numpy as np
import onnx
import pytest

from scripts.export_models.kokoro import integers
from tests.unit.export_models.kokoro.small import Array, kinds, model, node, random, run

_LAYER = "/decoder/decoder/generator/resblocks.3/convs2.1/Conv_output_0"


def _weight(largest: int = 100) -> Array:
    values = np.random.default_rng(1).integers(-largest, largest + 1, (4, 8, 1, 3))
    return (values * np.float32(0.0123)).astype(np.float32)


def _convolution(weight: Array, name: str = _LAYER) -> onnx.ModelProto:
    conv = node("Conv", ["x", "w", "b"], ["y"], name, kernel_shape=[1, 3], pads=[0, 1, 0, 1])
    return model([conv], {"x": [1, 8, 1, "n"]}, ["y"], {"w": weight, "b": random(4)})


def test_a_convolution_of_the_vocoder_reads_8_bit_integers() -> None:
    given, x = _convolution(_weight()), random(1, 8, 1, 30)
    (before,) = run(given, x=x)
    assert (integers.found(given), integers.quantised(given)) == (1, 1)
    assert kinds(given) == ["QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv"]
    assert 0 < np.abs(run(given, x=x)[0] - before).max() < 0.05 * np.abs(before).max()


def test_the_weights_are_the_published_integers() -> None:
    given = _convolution(_weight())
    integers.quantised(given)
    (kept,) = (onnx.numpy_helper.to_array(each) for each in given.graph.initializer if each.name.startswith("y_int8"))
    assert np.array_equal(kept, np.round(_weight() / np.float32(0.0123)))


def test_values_beyond_the_range_are_cut() -> None:
    given = _convolution(_weight())
    integers.quantised(given)
    high, higher = (run(given, x=np.full((1, 8, 1, 5), value))[0] for value in (9.0, 90.0))
    assert np.array_equal(high, higher)


@pytest.mark.parametrize("largest", [1000, 128], ids=["many", "one more"])
def test_weights_of_more_than_8_bits_are_left(largest: int) -> None:
    weight = _weight(largest)
    weight[0, 0, 0] = [largest * np.float32(0.0123), 0, 0.0123]
    given = _convolution(weight)
    assert (integers.found(given), integers.quantised(given)) == (1, 0)


def test_other_convolutions_stay() -> None:
    given = _convolution(_weight(), "/decoder/decoder/generator/conv_post/Conv_output_0")
    assert (integers.found(given), integers.quantised(given)) == (0, 0)
