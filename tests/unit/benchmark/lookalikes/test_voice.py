from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from scripts.benchmark.lookalikes import voice
from tests.conftest import ROOT


@pytest.mark.filterwarnings("ignore")
def test_a_voice_speaks_three_frames_an_id(tmp_path: Path) -> None:
    path = tmp_path / "voice.onnx"
    voice.write(path, ROOT / "model_repository" / "piper_amy" / "1" / "voice.json", voice.TINY)
    run = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run
    for ids in (5, 80):
        inputs = {"input": np.ones((1, ids), np.int64), "input_lengths": np.array([ids])}
        (samples,) = run(None, {**inputs, "scales": np.array([0.667, 1, 0.8], np.float32)})
        assert samples.shape == (1, 1, 1, ids * 3 * 256)
