"""Whisper base in ``transformers``, and a recording of a person as its input."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import WhisperForConditionalGeneration

from client.recordings import SAMPLE_RATE, recordings
from scripts.export_models.whisper.served import recognizer_module
from tests.checkpoints import whisper_base


@pytest.fixture(scope="session")
def checkpoint() -> Any:
    return WhisperForConditionalGeneration.from_pretrained(whisper_base()).float().eval()


@pytest.fixture(scope="session")
def features() -> NDArray[np.float32]:
    """Of one window, [1, mel bins, frames]."""
    (recording,) = recordings("en", most=1)
    found: NDArray[np.float32] = recognizer_module().LogMel(80)(recording.samples(), 30 * SAMPLE_RATE)[None]
    return found


@pytest.fixture(scope="session")
def encoded(checkpoint: Any, features: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the original encodes the window as, [1, frames, width]."""
    with torch.inference_mode():
        found: NDArray[np.float32] = checkpoint.model.encoder(torch.from_numpy(features))[0].numpy()
    return found


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run beside each other."""
    monkeypatch.setattr("scripts.export_models.whisper.checks.processors", lambda: 1)
