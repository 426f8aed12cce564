import json
import shutil
import wave
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.voices.export import config_text, ways
from scripts.export_models.ways import first_that_passes


@pytest.fixture(scope="module")
def exported(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    exported = first_that_passes(ways("piper_amy", source, folder))
    assert (exported.way, [check.passed for check in exported.checks]) == ("rewritten", [True, True])
    return folder


@pytest.mark.parametrize("phonemes", [3, 300])
def test_an_exported_voice_says_the_same_without_noise(source: Path, exported: Path, phonemes: int) -> None:
    inputs = {
        "input": np.random.default_rng(1).integers(1, 100, (1, phonemes)),
        "input_lengths": np.array([phonemes]),
        "scales": np.array([0, 1, 0], np.float32),
    }
    (before,) = ort.InferenceSession(str(source)).run(None, inputs)
    (after,) = ort.InferenceSession(str(exported / "1" / "model.onnx")).run(None, inputs)
    assert np.abs(before - after).max() < 1e-6


def test_an_exported_voice_has_no_fixed_noise(exported: Path) -> None:
    noises = [node for node in onnx.load(exported / "1" / "model.onnx").graph.node if "Random" in node.op_type]
    assert [[attribute.name for attribute in node.attribute if attribute.name == "seed"] for node in noises] == [[]]


def test_the_description_is_copied(source: Path, exported: Path) -> None:
    description = source.with_name("amy.onnx.json").read_text()
    assert json.loads((exported / "1" / "voice.json").read_text()) == json.loads(description)


def test_a_voice_speaks_a_sample(exported: Path) -> None:
    with wave.open(str(exported / "1" / "sample.wav")) as file:
        assert (file.getframerate(), file.getnframes() > file.getframerate()) == (22_050, True)


def test_the_configuration_has_the_inputs_and_outputs_of_the_written_graph(exported: Path) -> None:
    written = (exported / "config.pbtxt").read_text(encoding="utf-8")
    assert written == config_text("piper_amy", ort.InferenceSession(str(exported / "1" / "model.onnx")))
    assert '{ name: "scales" data_type: TYPE_FP32 dims: [ 3 ] }' in written


def test_an_export_keeps_what_an_operator_wrote_into_the_configuration(
    source: Path, exported: Path, tmp_path: Path
) -> None:
    path = tmp_path / "config.pbtxt"
    edited = (exported / "config.pbtxt").read_text(encoding="utf-8").replace("{ kind", "{ count: 3 kind")
    path.write_text(edited, encoding="utf-8")
    ways("piper_amy", source, tmp_path)[-1].export()
    assert path.read_text(encoding="utf-8") == edited


def test_a_file_that_is_no_voice_is_refused(source: Path, tmp_path: Path) -> None:
    model = onnx.load(source)
    onnx.compose.add_prefix_graph(model.graph, "other_", inplace=True)
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(SourceError, match="a Piper voice takes input, input_lengths and scales"):
        config_text("piper_amy", ort.InferenceSession(str(tmp_path / "other.onnx")))


def test_a_voice_that_a_pass_does_not_match_keeps_its_graph(source: Path, tmp_path: Path) -> None:
    """One of its kernels is computed."""
    model = onnx.load(source)
    upsampling = next(node for node in model.graph.node if node.op_type == "ConvTranspose")
    model.graph.node.insert(0, onnx.helper.make_node("Identity", [upsampling.input[1]], ["computed"]))
    upsampling.input[1] = "computed"
    onnx.save(model, tmp_path / "voice.onnx")
    shutil.copy(source.with_name("amy.onnx.json"), tmp_path / "voice.onnx.json")
    exported = first_that_passes(ways("piper_amy", tmp_path / "voice.onnx", tmp_path / "out"))
    assert exported.way == "original"
    assert exported.skipped == ["rewritten: the pass 'pictures' rewrote 75 of the graph's 76 convolutions"]
    assert len(onnx.load(tmp_path / "out" / "1" / "model.onnx").graph.node) == len(model.graph.node)
