from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import openvino as ov
from onnx import TensorProto

from scripts.export_models.kokoro.export import FILE, SAMPLE_RATE, difference, halve, write
from scripts.export_models.kokoro.source import PRECISE
from scripts.export_models.onnx_graph import Array
from tests.unit.export_models.kokoro.small import model, node, random, run


def test_large_weights_are_kept_in_half_precision() -> None:
    given = model([node("MatMul", ["x", "w"], ["y"])], {"x": [1, 200]}, ["y"], {"w": random(200, 60)})
    x = random(1, 200, seed=2)
    before = run(given, x=x)
    halve(given)
    assert [weight.data_type for weight in given.graph.initializer] == [TensorProto.FLOAT16]
    assert np.allclose(before, run(given, x=x), atol=0.02)


def test_small_weights_keep_their_precision() -> None:
    given = model([node("Mul", ["x", "w"], ["y"])], {"x": [4]}, ["y"], {"w": random(4)})
    halve(given)
    assert [weight.data_type for weight in given.graph.initializer] == [TensorProto.FLOAT]


def test_the_files_give_the_same_and_note_what_stays_in_float32(tmp_path: Path) -> None:
    nodes = [node("Mul", ["x", "w"], ["a"], f"{PRECISE}mul"), node("Floor", ["a"], ["y"], "floor")]
    given, x = model(nodes, {"x": [4]}, ["y"], {"w": random(4)}), random(4, seed=2)
    before = run(given, x=x)
    write(given, tmp_path)
    assert np.array_equal(before[0], ov.Core().compile_model(tmp_path / FILE, "CPU")({"x": x})[0])
    layers = ElementTree.parse(tmp_path / FILE).iter("layer")
    noted = [layer.get("name") for layer in layers if layer.find("rt_info/attribute[@name='precise']") is not None]
    assert noted == [f"{PRECISE}mul"]


def _tone(hertz: float) -> Array:
    seconds = np.arange(SAMPLE_RATE) / SAMPLE_RATE
    tone = 0.3 * np.sin(2 * np.pi * hertz * seconds) * (1 + np.sin(6 * seconds))
    return np.asarray(tone, np.float32)


def test_a_sound_does_not_differ_from_itself() -> None:
    assert difference(_tone(200), _tone(200)) == 0


def test_other_phases_and_a_frame_more_hardly_matter() -> None:
    later = np.concatenate([np.zeros(600, np.float32), -_tone(200)])
    assert difference(_tone(200), later) < 0.1


def test_another_tone_matters() -> None:
    assert difference(_tone(200), _tone(900)) > 0.3


def test_a_sound_that_is_no_number_differs() -> None:
    assert not difference(_tone(200), np.full(SAMPLE_RATE, np.nan, np.float32)) <= 1
