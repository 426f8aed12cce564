import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from scripts.benchmark.lookalikes import voice
from scripts.export_models.export_piper import export_piper
from tests.conftest import ROOT

DESCRIPTION = ROOT / "model_repository" / "piper_amy" / "1" / "voice.json"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("voice") / "amy.onnx"
    voice.write(path, DESCRIPTION)
    shutil.copy(DESCRIPTION, path.with_name("amy.onnx.json"))
    return path


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("phonemes", [3, 40, 300])
def test_a_vocoder_says_the_same(source: Path, tmp_path: Path, phonemes: int) -> None:
    (check,) = export_piper("piper_amy", source, tmp_path)
    inputs = {
        "input": np.random.default_rng(1).integers(1, 100, (1, phonemes)),
        "input_lengths": np.array([phonemes]),
        "scales": np.array([0, 1, 0], np.float32),
    }
    (before,) = ort.InferenceSession(str(source)).run(None, inputs)
    (after,) = ort.InferenceSession(str(tmp_path / "1" / "model.onnx")).run(None, inputs)
    assert check.passed
    assert np.abs(before - after).max() < 1e-6


@pytest.mark.filterwarnings("ignore")
def test_each_upsampling_stage_is_a_loop(source: Path, tmp_path: Path) -> None:
    export_piper("piper_amy", source, tmp_path)
    kinds = [node.op_type for node in onnx.load(tmp_path / "1" / "model.onnx").graph.node]
    assert kinds.count("Loop") == 3


@pytest.mark.filterwarnings("ignore")
def test_its_description_is_put_beside_it(source: Path, tmp_path: Path) -> None:
    export_piper("piper_amy", source, tmp_path)
    assert json.loads((tmp_path / "1" / "voice.json").read_text()) == json.loads(DESCRIPTION.read_text())
