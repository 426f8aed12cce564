"""The passes over a whole voice."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.voices import passes
from scripts.export_models.voices.passes import PASSES


def _said(model: onnx.ModelProto) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    inputs = {"input": np.arange(1, 41)[None], "input_lengths": np.array([40])}
    answer: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = ort.InferenceSession(model.SerializeToString()).run(
        None, {**inputs, "scales": np.array([0, 1, 0], np.float32)}
    )[0]
    return answer


def test_no_pass_changes_the_sound(source: Path) -> None:
    model = onnx.load(source)
    before = _said(model)
    for each in PASSES:
        each.run(model)
        assert np.abs(_said(model) - before).max() < 1e-6, each.name


def test_each_pass_rewrites_all_parts_of_a_voice(source: Path) -> None:
    model = onnx.load(source)
    found = {}
    for each in PASSES:
        found[each.name] = each.found(model)
        each.run(model)
    # 15 activations are behind a sum or an upsampling, and take two convolutions each.
    assert found == {"pictures": 76, "stretches": 3, "upsampling": 3}


def _upsampling(model: onnx.ModelProto) -> onnx.NodeProto:
    return next(node for node in model.graph.node if node.op_type == "ConvTranspose")


def test_a_voice_whose_upsampling_is_of_another_kind_is_refused(source: Path) -> None:
    model = onnx.load(source)
    node = _upsampling(model)
    pads = next(attribute for attribute in node.attribute if attribute.name == "pads")
    pads.ints[:] = [pads.ints[0] + 1, pads.ints[1]]
    with pytest.raises(SourceError, match="the pass 'stretches' rewrote 2 of the graph's 3 upsampling stages"):
        passes.rewrite(model)


def test_a_voice_whose_kernels_are_computed_is_refused(source: Path) -> None:
    model = onnx.load(source)
    node = _upsampling(model)
    model.graph.node.insert(0, helper.make_node("Identity", [node.input[1]], ["computed"]))
    _upsampling(model).input[1] = "computed"
    with pytest.raises(SourceError, match="the pass 'pictures' rewrote 75 of the graph's 76 convolutions"):
        passes.rewrite(model)
