"""Look-alikes of the real sizes, here made small: what makes them fit for a comparison."""

from pathlib import Path

import numpy as np
import pytest

from scripts.benchmark.lookalikes import whisper
from scripts.export_models.whisper.export import convert
from scripts.export_models.whisper.served import recognizer_module


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whisper")
    whisper.write(folder / "source", layers=1, width=64)
    convert(folder / "source", folder / "converted", "int8")
    return folder / "converted"


@pytest.mark.parametrize("seconds", [3, 12, 30])
def test_every_window_has_the_same_tokens_and_is_decoded_once(converted: Path, seconds: int) -> None:
    module = recognizer_module()
    recognizer = module.Recognizer(converted, compute_type="int8")
    audio = np.random.default_rng(seconds).normal(size=seconds * 16_000).astype(np.float32) * 0.1
    (answer,) = recognizer.transcribe([module.Window(audio, language="en")])
    assert "".join(word.text for word in answer.words).strip() == "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN"
    # None is doubted and decoded again.
    assert answer.avg_logprob > -0.1
