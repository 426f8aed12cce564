"""What the inputs of linear layers are, the arithmetic of their int8 weights, and the packed encoder in integers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from onnx import numpy_helper
from transformers import BertConfig, BertModel

from scripts.export_models import text_graph
from scripts.export_models.onnx_graph import Linear, column_scales
from scripts.export_models.text_checks import Run
from scripts.export_models.text_graph import trained
from scripts.export_models.text_int8 import (
    Inputs,
    calibrate,
    cholesky_factor_of_inverse,
    held_out,
    rounded,
    smoothing,
    texts,
    zero_point,
)
from tests.processors import exact_int8
from tests.unit.export_models import small_texts
from tests.unit.export_models.small_texts import first_token, load, xlmr

RNG = np.random.default_rng(3)
WEIGHT = RNG.normal(size=(16, 8)).astype(np.float32)
BIAS = RNG.normal(size=8).astype(np.float32)
ROWS = (RNG.normal(size=(400, 16)) * np.geomspace(0.1, 30, 16) + 2).astype(np.float32)


def _inputs(rows: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> Inputs:
    inputs = Inputs.of_width(rows.shape[1])
    inputs.add(torch.from_numpy(rows))
    return inputs


def test_a_layer_for_prepared_inputs_answers_as_before() -> None:
    smooth = smoothing(_inputs(ROWS), WEIGHT)
    layer = smooth.of_inputs(Linear(WEIGHT, BIAS))
    prepared = (ROWS - smooth.shift) / smooth.scale
    assert np.allclose(prepared @ layer.weight + layer.bias, ROWS @ WEIGHT + BIAS, atol=1e-3)


def test_a_layer_can_prepare_its_outputs() -> None:
    wide = RNG.normal(size=(4, 16)).astype(np.float32)
    smooth = smoothing(_inputs(ROWS), WEIGHT)
    layer = smooth.of_outputs(Linear(wide, np.zeros(16, np.float32)))
    x = RNG.normal(size=(5, 4)).astype(np.float32)
    assert np.allclose(x @ layer.weight + layer.bias, (x @ wide - smooth.shift) / smooth.scale, atol=1e-3)


def test_smoothing_makes_the_sizes_of_channels_more_similar() -> None:
    smooth = smoothing(_inputs(ROWS), WEIGHT)
    prepared, plain = (np.abs(rows).max(axis=0) for rows in ((ROWS - smooth.shift) / smooth.scale, ROWS))
    assert prepared.max() / prepared.min() < plain.max() / plain.min() / 4


def test_smoothing_moves_most_of_a_channels_size_to_the_weights() -> None:
    rows = (ROWS - ROWS.mean(axis=0)).astype(np.float32)
    smooth = smoothing(_inputs(rows), np.ones((16, 8), np.float32))
    abs_max = np.abs(rows - rows.mean(axis=0)).max(axis=0)
    assert np.allclose(smooth.scale, abs_max**0.6, rtol=1e-3)


def test_the_hessian_of_prepared_inputs_is_theirs() -> None:
    inputs = _inputs(ROWS)
    smooth = smoothing(inputs, WEIGHT)
    prepared = (ROWS.astype(np.float64) - smooth.shift) / smooth.scale
    assert np.allclose(smooth.hessian(inputs), prepared.T @ prepared / len(ROWS), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("sign", "edge"), [(1, 8), (-1, 128)])
def test_the_zero_point_leaves_the_range_to_the_side_that_is_used(sign: int, edge: int) -> None:
    assert zero_point(np.float32(sign) * np.abs(ROWS)) == edge


def test_symmetric_inputs_have_their_zero_point_in_the_middle() -> None:
    assert abs(zero_point(np.concatenate([ROWS - 2, 2 - ROWS], axis=1)) - 128) <= 1


@pytest.mark.parametrize(("low", "high"), [(-1.0, 3.0), (-2.0, 2.5), (-1.0, 20.0)])
def test_the_zero_point_divides_the_range_by_the_extremes(low: float, high: float) -> None:
    rows = np.tile(np.array([low, 0, high], np.float32), (5, 1))
    assert abs(zero_point(rows) - 255 * -low / (high - low)) <= 1


def test_each_group_of_inputs_has_its_own_scales() -> None:
    scales = column_scales(np.concatenate([WEIGHT, WEIGHT * 10]), 2)
    assert np.allclose(scales[1], scales[0] * 10)


def test_weights_that_int8_represents_exactly_are_kept_whatever_the_inputs() -> None:
    exact = RNG.integers(-127, 128, (16, 8)).astype(np.float32)
    exact[0] = 127
    hessian = (ROWS.T @ ROWS / len(ROWS)).astype(np.float64)
    assert (rounded(exact * 0.5, np.full((1, 8), 0.5, np.float32), hessian) == exact).all()


def test_gptq_loses_less_than_rounding_to_the_nearest() -> None:
    mixed = (ROWS @ RNG.normal(size=(16, 300))).astype(np.float32)
    weight = RNG.normal(size=(300, 8)).astype(np.float32)
    scales = column_scales(weight, 1) * 8
    hessian = (mixed.T @ mixed / len(mixed)).astype(np.float64)
    nearest = np.clip(np.round(weight / scales), -127, 127)
    losses = [np.square(mixed @ (weight - q * scales)).mean() for q in (rounded(weight, scales, hessian), nearest)]
    assert losses[0] < losses[1] / 4


def test_the_weights_of_a_column_use_the_whole_range() -> None:
    weights = rounded(WEIGHT, column_scales(WEIGHT, 1), np.eye(16))
    assert (np.abs(weights.astype(int)).max(axis=0) == 127).all()


def test_the_cholesky_factor_of_an_inverse_is_upper_triangular_and_gives_the_inverse() -> None:
    given = torch.randn(40, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    matrix = given.T @ given
    factor = cholesky_factor_of_inverse(matrix)
    assert torch.equal(factor, factor.triu())
    assert torch.allclose(factor.T @ factor @ matrix, torch.eye(9, dtype=torch.float64))


IDS = [np.array([1, 5, 6, 2], np.int32), np.array([1, 7, 2], np.int32)]


def _encoder() -> BertModel:
    torch.manual_seed(0)
    config = BertConfig(vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    return BertModel(config).eval()


def test_no_text_is_both_calibrated_on_and_held_out() -> None:
    assert not set(texts()) & set(held_out())


def test_the_first_layers_inputs_are_the_embeddings() -> None:
    encoder = _encoder()
    found = calibrate(encoder, IDS)["encoder.layer.0.attention.self.query"]
    with torch.inference_mode():
        rows = torch.cat([encoder.embeddings(torch.from_numpy(ids.astype(np.int64))[None])[0] for ids in IDS]).numpy()
    assert found.count == 7
    assert np.allclose(found.low, rows.min(axis=0), atol=1e-6)
    assert np.allclose(found.high, rows.max(axis=0), atol=1e-6)
    assert np.allclose(found.mean, rows.mean(axis=0), atol=1e-6)
    assert np.allclose(found.hessian, rows.T @ rows / 7, atol=1e-6)


def test_extremes_and_hessian_are_of_all_batches() -> None:
    rows = torch.randn(700, 3, generator=torch.Generator().manual_seed(0))
    inputs = Inputs.of_width(3)
    for some in rows.split([1, 400, 30, 269]):
        inputs.add(some)
    assert np.allclose(inputs.hessian, (rows.T.double() @ rows.double() / 700).numpy(), atol=1e-6)
    assert (inputs.low == rows.amin(0).numpy()).all()
    assert (inputs.high == rows.amax(0).numpy()).all()


def test_padding_is_not_measured() -> None:
    encoder = _encoder()
    together = calibrate(encoder, IDS)
    alone = [calibrate(encoder, [ids]) for ids in IDS]
    assert together.keys() == alone[0].keys()
    for name, found in together.items():
        assert found.count == sum(each[name].count for each in alone) == 7
        total = sum(each[name].hessian * each[name].count for each in alone)
        assert np.allclose(found.hessian * found.count, total, atol=1e-5)


def test_texts_beyond_one_batch_are_measured_too() -> None:
    ids = [np.full(length, 5, np.int32) for length in (500, 400, 3, 300)]
    assert calibrate(_encoder(), ids)["encoder.layer.0.output.dense"].count == 1203


def test_layers_that_share_their_inputs_are_measured_once() -> None:
    names = [name.removeprefix("encoder.layer.0.") for name in calibrate(_encoder(), IDS)]
    assert names == ["attention.self.query", "attention.output.dense", "intermediate.dense", "output.dense"]


def test_an_encoder_keeps_no_hooks() -> None:
    encoder = _encoder()
    calibrate(encoder, IDS)
    assert not any(module._forward_pre_hooks for module in encoder.modules())


def test_a_long_text_has_hardly_more_samples_than_a_short_one() -> None:
    ids = [np.full(length, 5, np.int32) for length in (7, 80, 400)]
    assert [len(rows) for rows in calibrate(_encoder(), ids)["encoder.layer.0.output.dense"].rows] == [7, 8, 8]


@pytest.fixture(scope="module")
def int8(tmp_path_factory: pytest.TempPathFactory) -> Run:
    model = xlmr()
    checkpoint = trained(model, calibrate(model, small_texts.texts((50, 200))))
    return load(text_graph.embedder(checkpoint, "int8", "cls"), tmp_path_factory.mktemp("int8"), "int8")


@exact_int8
def test_int8_is_equal_to_the_bit_alone_and_in_a_batch(int8: Run) -> None:
    given = small_texts.texts((3, 40, 500))
    together = int8(given)
    assert all((int8([text])[0] == row).all() for text, row in zip(given, together, strict=True))


@exact_int8
def test_int8_stays_close_to_fp32(int8: Run, embedder: tuple[Any, Run]) -> None:
    given = small_texts.texts((3, 40, 500))
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
    checkpoint = trained(model, calibrate(model, small_texts.texts((50, 200))))
    run = load(text_graph.embedder(checkpoint, "int8", "cls"), tmp_path, "int8")
    given = small_texts.texts((3, 40, 500))
    wanted = np.stack([first_token(model, text) for text in given])
    assert (1 - (run(given) * wanted).sum(axis=1)).max() < 1e-3


def test_the_large_feed_forward_channels_are_in_the_first_group() -> None:
    model = xlmr()
    with torch.no_grad():
        for layer in model.encoder.layer:
            layer.intermediate.dense.bias[::16] = 10.0
    graph = text_graph.embedder(trained(model, calibrate(model, small_texts.texts((50, 200)))), "int8", "cls").graph
    biases = [numpy_helper.to_array(each) for each in graph.initializer if each.name.startswith("bias")]
    large = [int((bias > 5).sum()) for bias in biases if bias.shape == (32,)]
    assert large == [8, 0, 0, 0] * 2


@exact_int8
def test_every_linear_layer_is_multiplied_in_integers(tmp_path: Path) -> None:
    model = xlmr()
    checkpoint = trained(model, calibrate(model, small_texts.texts((50,))))
    run: Any = load(text_graph.embedder(checkpoint, "int8", "cls"), tmp_path, "int8")
    graph = run.__self__._request.get_compiled_model().get_runtime_model()
    nodes = [node.get_rt_info() for node in graph.get_ordered_ops()]
    products = [node for node in nodes if node["layerType"].astype(str) == "FullyConnected"]
    # In each of two layers: query, key, value, the output of attention, and four groups in each feed-forward layer.
    in_integers = [node for node in products if node["runtimePrecision"].astype(str) == "u8"]
    assert (len(in_integers), len(products)) == (24, 25)
