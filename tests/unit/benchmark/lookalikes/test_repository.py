import json
from pathlib import Path

import pytest

from scripts.benchmark.lookalikes import voice, whisper
from scripts.benchmark.lookalikes.repository import Checkpoints, put_voice
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


def test_a_whisper_is_exported_from_a_folder_named_from_where_it_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    whisper.write(Path("peers") / "whisper", layers=1, width=64)
    exported = Checkpoints(Path("peers")).whisper()
    assert json.loads((exported / "quartet.json").read_text(encoding="utf-8"))["window_seconds"] == 30
