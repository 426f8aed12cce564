"""Whisper base in ``transformers``, a recording of a person as its input, and comparisons of a small Whisper."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import WhisperFeatureExtractor, WhisperForConditionalGeneration

from client.recordings import SAMPLE_RATE, recordings
from scripts.export_models import whisper_checks as checks
from scripts.export_models.triton_code import recognizer_module
from scripts.export_models.whisper_checks import Spoken
from tests.checkpoints import whisper_base


@pytest.fixture(scope="package")
def checkpoint() -> Any:
    return WhisperForConditionalGeneration.from_pretrained(whisper_base()).float().eval()


@pytest.fixture(scope="package")
def features() -> NDArray[np.float32]:
    """Of one window, [1, mel bins, frames]."""
    (recording,) = recordings("en", most=1)
    found: NDArray[np.float32] = recognizer_module("features").LogMel(80)(recording.samples(), 30 * SAMPLE_RATE)[None]
    return found


@pytest.fixture(scope="package")
def encoded(checkpoint: Any, features: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the original encodes the window as, [1, frames, width]."""
    with torch.inference_mode():
        found: NDArray[np.float32] = checkpoint.model.encoder(torch.from_numpy(features))[0].numpy()
    return found


@pytest.fixture
def spoken(small: Path, original: Callable[[Path, Any], "AskedOnce"], monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons of two windows, whose words are those that the small original writes."""
    shortest = [min(recordings(language), key=lambda each: each.seconds) for language in ("en", "it")]
    windows = [Spoken(each.language, "", each.samples()) for each in shortest]
    hear = original(small, WhisperFeatureExtractor.from_pretrained(small)).hear
    windows = [replace(each, text=hear(each).text) for each in windows]
    monkeypatch.setattr(checks, "spoken_windows", lambda _: windows)
    # What is heard in short windows decides nothing.
    monkeypatch.setattr(checks, "short_recordings", list)


class AskedOnce:
    """An original that answers once for each window, and then what it answered."""

    def __init__(self, original: Any) -> None:
        self._original = original
        self._answers: dict[tuple[str, str, int], Any] = {}

    def hear(self, window: Spoken) -> Any:
        return self._answer("hear", window)

    def encode_in_int8(self, window: Spoken) -> Any:
        return self._answer("encode_in_int8", window)

    def _answer(self, method: str, window: Spoken) -> Any:
        if (asked := (method, window.language, len(window.audio))) not in self._answers:
            self._answers[asked] = getattr(self._original, method)(window)
        return self._answers[asked]


@pytest.fixture(scope="package")
def original() -> Callable[[Path, Any], AskedOnce]:
    """The original in a folder, which is loaded once."""
    loaded: dict[Path, AskedOnce] = {}
    load = checks._Original

    def original(source: Path, extractor: Any) -> AskedOnce:
        if source not in loaded:
            loaded[source] = AskedOnce(load(source, extractor))
        return loaded[source]

    return original


@pytest.fixture(autouse=True)
def _little_work(original: Callable[[Path, Any], AskedOnce], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run beside each other, and a wrong graph writes to the end of every try."""
    monkeypatch.setattr(checks, "processors", lambda: 1)
    monkeypatch.setattr(checks, "_Original", original)
    monkeypatch.setattr(recognizer_module(), "_FALLBACK_TEMPERATURES", ())
