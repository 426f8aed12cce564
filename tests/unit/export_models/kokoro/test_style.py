import numpy as np
from onnx import numpy_helper

from scripts.export_models.kokoro import style
from tests.unit.export_models.kokoro.norms import CHANNELS, normed
from tests.unit.export_models.kokoro.small import kinds, random, run


def test_one_convolution_makes_the_scales_and_shifts_of_all_norms() -> None:
    given, inputs = normed(), {"x": random(1, CHANNELS, 9), "style": random(1, 3, seed=5)}
    before = run(given, **inputs)
    assert style.found(given) == 2
    assert style.by_convolution(given) == 2
    assert (kinds(given).count("Conv"), kinds(given).count("MatMul")) == (1, 0)
    assert all(np.allclose(one, other, atol=1e-5) for one, other in zip(before, run(given, **inputs), strict=True))


def test_a_norm_whose_scales_are_not_increased_by_one_is_left() -> None:
    given = normed()
    one = next(weight for weight in given.graph.initializer if weight.name == "one")
    one.CopyFrom(numpy_helper.from_array(np.array(2, np.float32), "one"))
    assert style.found(given) == 2
    assert style.by_convolution(given) == 0
