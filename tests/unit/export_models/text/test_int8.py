"""The packed encoder in integers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from onnx import numpy_helper

from scripts.export_models.text import models
from scripts.export_models.text.calibration import calibrate
from scripts.export_models.text.checks import Run
from tests.processors import exact_int8
from tests.unit.export_models.text.small import first_token, load, texts, xlmr


@pytest.fixture(scope="module")
def int8(tmp_path_factory: pytest.TempPathFactory) -> Run:
    model = xlmr()
    checkpoint = models.checkpoint_of(model, calibrate(model, texts((50, 200))))
    return load(models.embedder(checkpoint, "int8", "cls"), tmp_path_factory.mktemp("int8"), "int8")


@exact_int8
def test_int8_is_equal_to_the_bit_alone_and_in_a_batch(int8: Run) -> None:
    given = texts((3, 40, 500))
    together = int8(given)
    assert all((int8([text])[0] == row).all() for text, row in zip(given, together, strict=True))


@exact_int8
def test_int8_stays_close_to_fp32(int8: Run, embedder: tuple[Any, Run]) -> None:
    given = texts((3, 40, 500))
    assert (1 - (int8(given) * embedder[1](given)).sum(axis=1)).max() < 1e-4


def _with_outliers(model: Any) -> Any:
    """Give a few channels the size that trained encoders give them, by way of the normalisations."""
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if name.endswith("LayerNorm.weight"):
                weights[[3, 17]] = 25.0
    return model


@exact_int8
def test_int8_stays_close_if_some_channels_are_large(tmp_path: Path) -> None:
    model = _with_outliers(xlmr())
    checkpoint = models.checkpoint_of(model, calibrate(model, texts((50, 200))))
    run = load(models.embedder(checkpoint, "int8", "cls"), tmp_path, "int8")
    given = texts((3, 40, 500))
    wanted = np.stack([first_token(model, text) for text in given])
    assert (1 - (run(given) * wanted).sum(axis=1)).max() < 1e-3


def test_the_large_feed_forward_channels_are_in_the_first_group() -> None:
    model = xlmr()
    with torch.no_grad():
        for layer in model.encoder.layer:
            layer.intermediate.dense.bias[::16] = 10.0
    graph = models.embedder(models.checkpoint_of(model, calibrate(model, texts((50, 200)))), "int8", "cls").graph
    biases = [numpy_helper.to_array(each) for each in graph.initializer if each.name.startswith("bias")]
    large = [int((bias > 5).sum()) for bias in biases if bias.shape == (32,)]
    assert large == [8, 0, 0, 0] * 2


@exact_int8
def test_every_linear_layer_is_multiplied_in_integers(tmp_path: Path) -> None:
    model = xlmr()
    checkpoint = models.checkpoint_of(model, calibrate(model, texts((50,))))
    run: Any = load(models.embedder(checkpoint, "int8", "cls"), tmp_path, "int8")
    graph = run.__self__._request.get_compiled_model().get_runtime_model()
    nodes = [node.get_rt_info() for node in graph.get_ordered_ops()]
    products = [node for node in nodes if node["layerType"].astype(str) == "FullyConnected"]
    # In each of two layers: query, key, value, the output of attention, and four groups in each feed-forward layer.
    in_integers = [node for node in products if node["runtimePrecision"].astype(str) == "u8"]
    assert (len(in_integers), len(products)) == (24, 25)
