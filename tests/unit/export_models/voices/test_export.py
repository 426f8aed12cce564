import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from scripts.benchmark.lookalikes import voice
from scripts.export_models.voices.export import export_piper
from tests.conftest import ROOT

DESCRIPTION = ROOT / "model_repository" / "piper_amy" / "1" / "voice.json"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("voice") / "amy.onnx"
    # torch's exporter warns of itself.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        voice.write(path, DESCRIPTION)
    shutil.copy(DESCRIPTION, path.with_name("amy.onnx.json"))
    return path


@pytest.fixture(scope="module")
def exported(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    (check,) = export_piper("piper_amy", source, folder)
    assert check.passed
    return folder


@pytest.mark.parametrize("phonemes", [3, 40, 300])
def test_a_vocoder_says_the_same(source: Path, exported: Path, phonemes: int) -> None:
    inputs = {
        "input": np.random.default_rng(1).integers(1, 100, (1, phonemes)),
        "input_lengths": np.array([phonemes]),
        "scales": np.array([0, 1, 0], np.float32),
    }
    (before,) = ort.InferenceSession(str(source)).run(None, inputs)
    (after,) = ort.InferenceSession(str(exported / "1" / "model.onnx")).run(None, inputs)
    assert np.abs(before - after).max() < 1e-6


def test_each_upsampling_stage_is_a_loop(exported: Path) -> None:
    kinds = [node.op_type for node in onnx.load(exported / "1" / "model.onnx").graph.node]
    assert kinds.count("Loop") == 3


def test_its_description_is_put_beside_it(exported: Path) -> None:
    assert json.loads((exported / "1" / "voice.json").read_text()) == json.loads(DESCRIPTION.read_text())
