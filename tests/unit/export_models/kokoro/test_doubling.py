import numpy as np
import onnx

from scripts.export_models.kokoro import doubling
from tests.unit.export_models.kokoro.small import kinds, model, node, random, run


def _resized(factor: float) -> onnx.ModelProto:
    attributes = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
    resize = node("Resize", ["x", "", "scales"], ["y"], **attributes)
    return model([resize], {"x": [1, 4, "n"]}, ["y"], {"scales": np.array([1, 1, factor], np.float32)})


def test_each_sample_comes_twice() -> None:
    given, x = _resized(2), random(1, 4, 7)
    before = run(given, x=x)
    assert (doubling.found(given), doubling.joined(given)) == (1, 1)
    assert "Resize" not in kinds(given)
    assert np.array_equal(before, run(given, x=x))


def test_other_lengths_stay() -> None:
    assert doubling.joined(_resized(300)) == 0
