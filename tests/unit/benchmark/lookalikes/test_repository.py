from pathlib import Path

import pytest

from scripts.benchmark.lookalikes import voice
from scripts.benchmark.lookalikes.repository import put_voice
from tests.conftest import ROOT


@pytest.mark.filterwarnings("ignore")
def test_a_look_alike_in_the_place_of_a_model_leaves_the_demos_repository_as_it_is(tmp_path: Path) -> None:
    demo = ROOT / "model_repository" / "piper_amy"
    before = {path: path.read_bytes() for path in demo.rglob("*") if path.is_file()}
    voice.write(tmp_path / "amy.onnx", demo / "1" / "voice.json", voice.TINY)
    put_voice(tmp_path / "repository", tmp_path / "amy.onnx")
    written = tmp_path / "repository" / "piper_amy" / "config.pbtxt"
    assert written.read_bytes() != before[demo / "config.pbtxt"]
    assert {path: path.read_bytes() for path in before} == before
