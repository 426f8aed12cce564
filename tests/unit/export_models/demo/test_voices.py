"""The demo's voices."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from scripts.export_models.demo.voices import BUILT
from tests.conftest import ROOT

# One of the voices, as all of them are built.
_BUILD = """
import sys
from pathlib import Path
from scripts.export_models.demo.espeak import Espeak
from scripts.export_models.demo.voices import BUILT, build
espeak = Espeak()
build(BUILT[0], espeak, Path(sys.argv[1]))
"""


def _voice(name: str) -> Path:
    return ROOT / "model_repository" / f"piper_{name}" / "1" / "model.onnx"


def _speak(name: str, ids: list[int]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    session = ort.InferenceSession(str(_voice(name)), providers=["CPUExecutionProvider"])
    feed = {
        "input": np.array([ids], np.int64),
        "input_lengths": np.array([len(ids)], np.int64),
        "scales": np.array([0.667, 1, 0.8], np.float32),
    }
    output: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = session.run(None, feed)[0]
    return output


@pytest.mark.parametrize("voice", [voice.name for voice in BUILT])
def test_a_voice_is_smaller_than_3_mb(voice: str) -> None:
    assert _voice(voice).stat().st_size < 3_000_000


@pytest.mark.parametrize("voice", [voice.name for voice in BUILT])
def test_a_voice_says_the_same_thing_the_same_way(voice: str) -> None:
    ids = [1, 0, 20, 0, 59, 0, 24, 0, 27, 0, 2]
    assert (_speak(voice, ids) == _speak(voice, ids)).all()


def test_ids_beyond_the_given_length_are_not_said() -> None:
    session = ort.InferenceSession(str(_voice("amy")), providers=["CPUExecutionProvider"])
    feed = {"input": np.array([[1, 0, 20, 0, 2, 59, 59, 59]], np.int64), "scales": np.zeros(3, np.float32)}
    short = session.run(None, {**feed, "input_lengths": np.array([5], np.int64)})[0]
    assert (short == _speak("amy", [1, 0, 20, 0, 2])).all()


@pytest.mark.parametrize("ids", [[1, 0, 2], [1, 0, 250, 0, 2], [1, 0, 120, 0, 120, 0, 2], list(range(256))])
def test_any_ids_are_spoken_without_an_error(ids: list[int]) -> None:
    output = _speak("thorsten", ids)
    assert output.shape[:3] == (1, 1, 1)
    assert np.isfinite(output).all()


def test_a_voice_built_twice_is_the_same(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    command = [sys.executable, "-c", _BUILD]
    building = [subprocess.Popen([*command, str(folder)], cwd=ROOT) for folder in folders]
    assert [process.wait() for process in building] == [0, 0]
    built = [{path.name: path.read_bytes() for path in sorted(folder.rglob("*.onnx"))} for folder in folders]
    assert len(built[0]) == 1
    assert built[0] == built[1]
