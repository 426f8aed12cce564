"""What an engine has done before the first caller."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripts.export_models.triton_code import recognizer_module
from tests.unit.whisper.engines import tokens_of

loading, engines = recognizer_module("loading"), recognizer_module("engines")


class Engine:
    """Notes what it is asked."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.asked: list[Any] = []

    def encode(self, features: Any) -> list[Any]:
        self.asked.append(features.shape)
        return [engines.Encoded(np.zeros((1, 1500, 8), np.float32))]

    def languages(self, windows: Any) -> list[Any]:
        self.asked.append("languages")
        return []

    def decode(self, windows: Any, prompts: Any, *_: Any) -> list[Any]:
        self.asked.append(("decode", [len(prompt) for prompt in prompts]))
        return [engines.Decoded([5], -0.5, 0.0)]

    def align(self, windows: Any, task: Any, decoded: Any, seconds: Any) -> list[Any]:
        self.asked.append("align")
        return []


def test_each_part_has_run_once_on_the_longest_window(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognizer_module("ctranslate_engine"), "CTranslateEngine", Engine)
    settings = {"window_seconds": 30, "mel_bins": 128}
    engine = loading.load_engine(
        exported,
        settings,
        tokens_of(exported),
        device="cuda",
        device_index=0,
        compute_type="float16",
        threads=1,
        beam_size=1,
    )
    assert engine.asked == [(1, 128, 3000), "languages", ("decode", [4]), "align"]
