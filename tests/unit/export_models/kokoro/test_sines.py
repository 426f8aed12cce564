import numpy as np
import onnx
import pytest

from scripts.export_models.kokoro import sines
from scripts.export_models.kokoro.style import by_convolution
from scripts.export_models.onnx_graph import Graph
from tests.unit.export_models.kokoro.norms import CHANNELS, normed
from tests.unit.export_models.kokoro.small import kinds, model, node, random, run


def _normed(factors: tuple[float, ...] = (0.5, 1.0, -1.5, 2.0)) -> onnx.ModelProto:
    given = normed(factors)
    by_convolution(given)
    return given


def test_the_chain_gives_twice_the_cosine_of_turns() -> None:
    g = Graph()
    result = sines.cosine(g, "turns")
    weights = {weight.name: onnx.numpy_helper.to_array(weight) for weight in g.weights}
    turns = np.linspace(-40, 40, 10_001).astype(np.float32)
    given = model(g.nodes, {"turns": ["n"]}, [result], weights)
    assert np.abs(run(given, turns=turns)[0] - 2 * np.cos(2 * np.pi * turns.astype(float))).max() < 3e-4


@pytest.mark.parametrize("factors", [(0.5, 1.0, -1.5, 2.0), (0.02, -0.01, 0.3, 1.0)], ids=["usual", "small"])
def test_an_activation_gives_the_same_without_sines(factors: tuple[float, ...]) -> None:
    given, inputs = _normed(factors), {"x": 3 * random(1, CHANNELS, 200), "style": random(1, 3, seed=5)}
    before = run(given, **inputs)
    assert sines.found(given) == 1
    assert sines.activations(given) == 1
    assert "Sin" not in kinds(given)
    assert all(np.allclose(one, other, atol=0.01) for one, other in zip(before, run(given, **inputs), strict=True))


def test_a_channel_with_almost_no_wave_keeps_its_values() -> None:
    given, inputs = _normed((1e-5, 1.0, 1.0, 1.0)), {"x": random(1, CHANNELS, 200), "style": random(1, 3, seed=5)}
    before = run(given, **inputs)
    assert sines.activations(given) == 1
    assert np.allclose(run(given, **inputs)[1], before[1], rtol=0.05, atol=0.05)


def test_a_sine_that_is_not_squared_stays() -> None:
    given = model([node("Sin", ["x"], ["y"])], {"x": ["n"]}, ["y"], {})
    assert (sines.found(given), sines.activations(given)) == (0, 0)


def test_an_activation_behind_no_norm_is_left() -> None:
    given = _normed()
    given.graph.node[-5].input[1] = "x"
    given.graph.node[-1].input[0] = "x"
    assert (sines.found(given), sines.activations(given)) == (1, 0)
