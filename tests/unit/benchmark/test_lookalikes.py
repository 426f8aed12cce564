"""Look-alikes of the real sizes, here made small: what makes them fit for a comparison."""

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from tokenizers import Tokenizer

from scripts.benchmark.lookalikes import text, voice, whisper
from scripts.benchmark.peers.repository import put_voice
from scripts.export_models.export_whisper import convert
from scripts.export_models.whisper_code import recognizer_module
from tests.conftest import ROOT


def test_a_text_has_a_token_a_word_and_two_more(tmp_path: Path) -> None:
    text.write(tmp_path / "m", reranker=False, layers=1)
    tokenizer = Tokenizer.from_file(str(tmp_path / "m" / "tokenizer.json"))
    written = text.words(np.random.default_rng(0), 50)
    ids = tokenizer.encode(written).ids
    assert len(ids) == 52
    assert 3 not in ids


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whisper")
    whisper.write(folder / "source", layers=1, width=64)
    convert(folder / "source", folder / "converted", "int8")
    return folder / "converted"


@pytest.mark.parametrize("seconds", [3, 12, 30])
def test_every_window_has_the_same_number_of_tokens(converted: Path, seconds: int) -> None:
    module = recognizer_module()
    recognizer = module.Recognizer(converted, compute_type="int8")
    audio = np.random.default_rng(seconds).normal(size=seconds * 16_000).astype(np.float32) * 0.1
    (answer,) = recognizer.transcribe([module.Window(audio, language="en")])
    assert "".join(segment.text for segment in answer.segments) == "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN"


def test_no_window_is_doubted_and_decoded_again(converted: Path) -> None:
    module = recognizer_module()
    recognizer = module.Recognizer(converted, compute_type="int8")
    (answer,) = recognizer.transcribe([module.Window(np.zeros(80_000, np.float32), language="en")])
    assert answer.avg_logprob > -0.1


@pytest.mark.filterwarnings("ignore")
def test_a_voice_speaks_three_frames_an_id(tmp_path: Path) -> None:
    path = tmp_path / "voice.onnx"
    voice.write(path, ROOT / "model_repository" / "piper_amy" / "1" / "voice.json")
    run = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run
    for ids in (5, 80):
        inputs = {"input": np.ones((1, ids), np.int64), "input_lengths": np.array([ids])}
        (samples,) = run(None, {**inputs, "scales": np.array([0.667, 1, 0.8], np.float32)})
        assert samples.shape == (1, 1, 1, ids * 3 * 256)


@pytest.mark.filterwarnings("ignore")
def test_a_look_alike_in_the_place_of_a_model_leaves_the_demos_repository_as_it_is(tmp_path: Path) -> None:
    demo = ROOT / "model_repository" / "piper_amy"
    before = {path: path.read_bytes() for path in demo.rglob("*") if path.is_file()}
    voice.write(tmp_path / "amy.onnx", demo / "1" / "voice.json")
    put_voice(tmp_path / "repository", tmp_path / "amy.onnx")
    written = tmp_path / "repository" / "piper_amy" / "config.pbtxt"
    assert written.read_bytes() != before[demo / "config.pbtxt"]
    assert {path: path.read_bytes() for path in before} == before
