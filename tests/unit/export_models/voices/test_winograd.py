from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from scripts.export_models.graphs.builder import Graph
from scripts.export_models.voices.winograd import SIZES, TILE, convolve, transforms

RNG = np.random.default_rng(1)
INPUTS, OUTPUTS = 4, 6

Sound = NDArray[np.floating[Any]]


@pytest.mark.parametrize("size", SIZES)
def test_the_products_of_transforms_are_a_convolution(size: int) -> None:
    to_samples, of_kernel, to_points = transforms(size)
    sound, kernel = RNG.normal(size=TILE + size - 1), RNG.normal(size=size)
    samples = to_samples @ ((of_kernel @ kernel) * (to_points @ sound))
    assert np.allclose(samples, [sound[start : start + size] @ kernel for start in range(TILE)])


@pytest.mark.parametrize("size", SIZES)
def test_there_are_as_many_products_as_samples_looked_at(size: int) -> None:
    assert transforms(size)[2].shape == (TILE + size - 1, TILE + size - 1)


def _convolved(sound: Sound, kernel: Sound, bias: Sound | None) -> Sound:
    g = Graph()
    output = convolve(g, "x", kernel, bias)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [TILE, len(sound), None])]
    model = g.model(inputs, [helper.make_tensor_value_info(output, TensorProto.FLOAT, [TILE, len(kernel), None])])
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    tiles = np.ascontiguousarray(sound.reshape(len(sound), -1, TILE).transpose(2, 0, 1))
    answer: Sound = session.run(None, {"x": tiles})[0]
    return answer.transpose(1, 2, 0).reshape(len(kernel), -1)


def _plain(sound: Sound, kernel: Sound) -> Sound:
    size = kernel.shape[2]
    around = np.pad(sound.astype(np.float64), ((0, 0), (size // 2, size // 2)))
    windows = np.lib.stride_tricks.sliding_window_view(around, size, axis=1)
    answer: Sound = np.einsum("its,ois->ot", windows, kernel)
    return answer


@pytest.mark.parametrize("tiles", [1, 2, 7])
@pytest.mark.parametrize("size", SIZES)
def test_tiles_of_any_number_are_convolved(tiles: int, size: int) -> None:
    sound = RNG.normal(size=(INPUTS, TILE * tiles)).astype(np.float32)
    kernel = RNG.normal(size=(OUTPUTS, INPUTS, size)).astype(np.float32)
    assert np.allclose(_convolved(sound, kernel, None), _plain(sound, kernel), atol=1e-4)


def test_a_bias_is_added_to_each_sample() -> None:
    sound = RNG.normal(size=(INPUTS, TILE * 3)).astype(np.float32)
    kernel, bias = RNG.normal(size=(OUTPUTS, INPUTS, 5)).astype(np.float32), np.arange(OUTPUTS, dtype=np.float32)
    assert np.allclose(_convolved(sound, kernel, bias), _plain(sound, kernel) + bias[:, None], atol=1e-4)


def test_many_channels_are_rounded_about_as_a_plain_convolution_is() -> None:
    sound = RNG.normal(size=(192, TILE * 80)).astype(np.float32)
    kernel = (RNG.normal(size=(192, 192, 5)) / np.sqrt(192 * 5)).astype(np.float32)
    assert np.abs(_convolved(sound, kernel, None) - _plain(sound, kernel)).max() < 1e-5
