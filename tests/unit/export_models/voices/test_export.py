import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from scripts.export_models.voices.export import VoiceError, config_text, export_piper
from tests.unit.export_models.voices.conftest import DESCRIPTION


@pytest.fixture(scope="module")
def exported(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    assert [check.passed for check in export_piper("piper_amy", source, folder)] == [True, True]
    return folder


@pytest.mark.parametrize("phonemes", [3, 300])
def test_what_is_written_says_the_same_without_noise(source: Path, exported: Path, phonemes: int) -> None:
    inputs = {
        "input": np.random.default_rng(1).integers(1, 100, (1, phonemes)),
        "input_lengths": np.array([phonemes]),
        "scales": np.array([0, 1, 0], np.float32),
    }
    (before,) = ort.InferenceSession(str(source)).run(None, inputs)
    (after,) = ort.InferenceSession(str(exported / "1" / "model.onnx")).run(None, inputs)
    assert np.abs(before - after).max() < 1e-6


def test_what_is_written_draws_noise_of_its_own(exported: Path) -> None:
    noises = [node for node in onnx.load(exported / "1" / "model.onnx").graph.node if "Random" in node.op_type]
    assert [[attribute.name for attribute in node.attribute if attribute.name == "seed"] for node in noises] == [[]]


def test_its_description_is_put_beside_it(exported: Path) -> None:
    assert json.loads((exported / "1" / "voice.json").read_text()) == json.loads(DESCRIPTION.read_text())


def test_its_configuration_has_the_inputs_and_outputs_of_what_is_written(exported: Path) -> None:
    written = (exported / "config.pbtxt").read_text(encoding="utf-8")
    assert written == config_text("piper_amy", ort.InferenceSession(str(exported / "1" / "model.onnx")))
    assert '{ name: "scales" data_type: TYPE_FP32 dims: [ 3 ] }' in written


def test_a_file_that_is_no_voice_is_refused(source: Path, tmp_path: Path) -> None:
    model = onnx.load(source)
    onnx.compose.add_prefix_graph(model.graph, "other_", inplace=True)
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(VoiceError, match="a Piper voice takes input, input_lengths and scales"):
        config_text("piper_amy", ort.InferenceSession(str(tmp_path / "other.onnx")))
