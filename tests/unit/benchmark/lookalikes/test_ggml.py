"""Weights as whisper.cpp reads them."""

import numpy as np
from numpy.typing import NDArray

from scripts.benchmark.lookalikes.ggml import q4_0, q8_0


def _read(packed: bytes) -> NDArray[np.float32]:
    """Blocks of 32 as ggml's ``dequantize_rowq4_0`` reads them."""
    blocks = np.frombuffer(packed, np.dtype([("step", "<f2"), ("values", "u1", 16)]))
    numbers = np.concatenate([blocks["values"] & 15, blocks["values"] >> 4], axis=1).astype(np.float32)
    read: NDArray[np.float32] = blocks["step"].astype(np.float32)[:, None] * (numbers - 8)
    return read


def test_blocks_of_four_bits_are_read_back_within_half_a_step() -> None:
    matrix = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
    matrix[0, :32] = 0
    read = _read(q4_0(matrix)).reshape(matrix.shape)
    steps = np.abs(matrix.reshape(-1, 32)).max(1).repeat(32).reshape(matrix.shape) / 8
    # The largest of a block has 8 steps to one side, and 7 to the other.
    assert (np.abs(read - matrix) <= steps * 1.01 + 1e-6).all()
    assert np.abs(read - matrix).mean() < steps.mean() / 3


def test_blocks_of_eight_bits_are_read_back_within_half_a_step() -> None:
    matrix = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
    matrix[0, :32] = 0
    blocks = np.frombuffer(q8_0(matrix), np.dtype([("step", "<f2"), ("values", "i1", 32)]))
    read = (blocks["step"].astype(np.float32)[:, None] * blocks["values"]).reshape(matrix.shape)
    steps = np.abs(matrix.reshape(-1, 32)).max(1).repeat(32).reshape(matrix.shape) / 127
    assert (np.abs(read - matrix) <= steps * 0.6 + 1e-6).all()
