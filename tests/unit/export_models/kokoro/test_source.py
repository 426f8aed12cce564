"""The source of a graph with three harmonics, frames of 20 samples, and a transform of 20 samples every 5."""

import numpy as np
import onnx

from scripts.export_models.kokoro.passes import as_nchw
from scripts.export_models.kokoro.source import PRECISE, cosine, rebuilt
from scripts.export_models.onnx_graph import Graph
from tests.unit.export_models.kokoro.small import Array, kinds, model, node, random, run

_FRAME, _HARMONICS, _WINDOW = 20, 3, 20


def _published() -> onnx.ModelProto:
    """From ``x`` [1, 2, n] to the ``real`` and ``imaginary`` parts [1, 11, frames]; the pitch is ``x``'s sum."""
    resized = {"coordinate_transformation_mode": "asymmetric", "mode": "nearest", "nearest_mode": "floor"}
    nodes = [
        node("Conv", ["x", "pitch_w", "pitch_b"], ["f"], "pitch", kernel_shape=[1]),
        node("Squeeze", ["f", "axis1"], ["squeezed"]),
        node("Reshape", ["squeezed", "flat"], ["flat_f"]),
        node("Unsqueeze", ["flat_f", "axis1"], ["f3"]),
        node("Resize", ["f3", "", "up"], ["fast"], **resized),
        node("Mul", ["fast", "harmonics"], ["each"]),
        node("Div", ["each", "rate"], ["turns"]),
        node("Floor", ["turns"], ["whole"]),
        node("Sub", ["turns", "whole"], ["part"]),
        node("Resize", ["part", "", "down"], ["slow"], mode="linear"),
        node("Transpose", ["slow"], ["by_time"], perm=[0, 2, 1]),
        node("CumSum", ["by_time", "one"], ["summed"]),
        *(node("Mul", [x, w], [y]) for x, w, y in (("summed", "two", "m1"), ("m1", "pi", "m2"), ("m2", "frame", "m3"))),
        node("Transpose", ["m3"], ["by_harmonic"], perm=[0, 2, 1]),
        node("Resize", ["by_harmonic", "", "up"], ["angles"], mode="linear"),
        node("Transpose", ["angles"], ["angle"], perm=[0, 2, 1]),
        node("Sin", ["angle"], ["sine"]),
        node("Mul", ["sine", "loudness"], ["wave"]),
        node("Transpose", ["fast"], ["fast_by_time"], perm=[0, 2, 1]),
        node("Greater", ["fast_by_time", "least"], ["voiced"]),
        node("Cast", ["voiced"], ["mask"], to=1),
        node("Mul", ["wave", "mask"], ["heard"]),
        node("MatMul", ["heard", "weights"], ["joined"]),
        node("Add", ["bias", "joined"], ["moved"]),
        node("Tanh", ["moved"], ["sound"]),
        node("Transpose", ["sound"], ["sound_last"], perm=[0, 2, 1]),
        node("Squeeze", ["sound_last", "axis1"], ["row"]),
        node("Reshape", ["row", "flat3"], ["row3"]),
        node("Pad", ["row3", "pads"], ["padded"], mode="reflect"),
        node("Reshape", ["padded", "flat"], ["signal"]),
        node("STFT", ["signal", "hop", "window", "size"], ["parts"]),
        node("Transpose", ["parts"], ["by_bin"], perm=[0, 2, 1, 3]),
        node("Gather", ["by_bin", "one64"], ["imaginary"], axis=3),
        node("Gather", ["by_bin", "zero64"], ["real"], axis=3),
    ]
    weights = {
        **{"pitch_w": np.ones((1, 2, 1)), "pitch_b": random(1), "axis1": np.array([1]), "flat": np.array([1, -1])},
        **{"up": np.array([1, 1, _FRAME], np.float32), "down": np.array([1, 1, 1 / _FRAME], np.float32)},
        **{"harmonics": np.arange(1.0, 4).reshape(1, 3, 1), "rate": 24_000.0, "one": np.int32(1), "two": 2.0},
        **{"pi": np.pi, "frame": float(_FRAME), "loudness": 0.1, "least": 10.0, "bias": np.array([-0.03])},
        **{"weights": random(_HARMONICS, 1), "flat3": np.array([1, 1, -1]), "pads": np.array([0, 0, 10, 0, 0, 10])},
        **{"hop": np.int64(5), "size": np.int64(_WINDOW), "window": np.hanning(_WINDOW + 1)[:-1]},
        **{"one64": np.int64(1), "zero64": np.int64(0)},
    }
    given = model(nodes, {"x": [1, 2, "n"]}, ["real", "imaginary"], weights)
    as_nchw(given)
    return given


def _pitch() -> Array:
    """Half of the pitch in Hz for each of two channels: silent, rising, and silent again."""
    pitch = np.concatenate([[2.0, -3.0, 4.0], np.linspace(80, 260, 30), [0.0, -5.0]]) / 2
    both: Array = np.stack([pitch, pitch])[None]
    return both


def test_the_source_gives_the_same_transform() -> None:
    given = _published()
    before = run(given, x=_pitch())
    assert rebuilt(given) == 1
    assert not {"STFT", "Resize", "Sin"} & set(kinds(given))
    after = run(given, x=_pitch())
    assert all(
        one.shape == other.shape and np.allclose(one, other, atol=1e-3)
        for one, other in zip(before, after, strict=True)
    )


def test_silent_bins_keep_the_phases_that_the_published_transform_gives_them() -> None:
    given = _published()
    silent = np.zeros((1, 2, 8))
    before = np.arctan2(*run(given, x=silent)[::-1])
    rebuilt(given)
    after = np.arctan2(*run(given, x=silent)[::-1])
    near = np.abs(np.angle(np.exp(1j * (before - after)))) < 0.5
    assert near.mean() > 0.7


def test_the_source_is_named_as_what_stays_in_float32() -> None:
    given = _published()
    others = {each.name for each in given.graph.node}
    rebuilt(given)
    assert all(
        each.name in others or each.name.startswith(PRECISE) or each.op_type == "Split" for each in given.graph.node
    )


def test_a_transform_of_another_sound_is_left() -> None:
    given = model(
        [node("STFT", ["x", "hop", "window", "size"], ["y"])],
        {"x": [1, "n"]},
        ["y"],
        {"hop": np.int64(5), "size": np.int64(20), "window": np.ones(20)},
    )
    assert rebuilt(given) == 0


def test_the_chain_gives_twice_the_cosine_of_turns() -> None:
    g = Graph()
    result = cosine(g, "turns")
    weights = {weight.name: onnx.numpy_helper.to_array(weight) for weight in g.weights}
    turns = np.linspace(-40, 40, 10_001).astype(np.float32)
    given = model(g.nodes, {"turns": ["n"]}, [result], weights)
    assert np.abs(run(given, turns=turns)[0] - 2 * np.cos(2 * np.pi * turns.astype(float))).max() < 3e-4
