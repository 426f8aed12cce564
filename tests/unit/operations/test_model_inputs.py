"""The inputs of Whisper for a window."""

import numpy as np
import pytest

from frontend.operations.transcription.pipeline import model_inputs
from tests.speech import say


@pytest.mark.parametrize(("decibels", "peak"), [(-6, 0.5), (-20, 0.1), (-46, 0.5)], ids=["loud", "soft", "quiet"])
def test_quiet_speech_is_made_louder_for_the_model(decibels: float, peak: float) -> None:
    speech = say("good morning everybody")
    samples = speech / np.abs(speech).max() * 32767 * 10 ** (decibels / 20)
    audio = model_inputs(samples.astype(np.int16).tobytes(), "", "")["audio"]
    assert float(np.abs(audio).max()) == pytest.approx(peak, rel=0.5)
    assert float(np.abs(audio).max()) <= 1


def test_silence_stays_silent() -> None:
    assert not model_inputs(bytes(32_000), "", "")["audio"].any()
