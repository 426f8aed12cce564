from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import openvino as ov
from onnx import TensorProto

from scripts.export_models.kokoro.source import PRECISE
from scripts.export_models.kokoro.writing import FILE, halve, write
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
