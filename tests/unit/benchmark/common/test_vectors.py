import numpy as np
import pytest

from scripts.benchmark.common.vectors import apart


def test_a_difference_below_what_single_precision_tells_is_told_whatever_the_lengths() -> None:
    ones, others = np.array([[1, 0], [0, 2]], np.float32), np.array([[3, 0], [1e-5, 1]], np.float32)
    assert apart(ones, others) == pytest.approx(5e-11, rel=1e-3)
