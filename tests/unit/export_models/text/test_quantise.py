"""The arithmetic of int8 weights."""

import numpy as np
import pytest
import torch

from scripts.export_models.onnx_graph import Linear, column_scales
from scripts.export_models.text.calibration import Inputs
from scripts.export_models.text.quantise import cholesky_factor_of_inverse, rounded, smoothing, zero_point

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
