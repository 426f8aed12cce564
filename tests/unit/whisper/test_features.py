import numpy as np
import pytest
from transformers import WhisperFeatureExtractor

from client.recordings import recordings
from scripts.export_models.whisper.served import recognizer_module

_SECONDS = np.arange(80_000) / 16_000
_SOUNDS = {
    "noise": np.random.default_rng(0).normal(0, 0.1, 50_000),
    "a click": np.eye(1, 50_000, 20_000)[0],
    "a tone that dies away": np.sin(2 * np.pi * 440 * _SECONDS) * np.exp(-_SECONDS),
    "a person": recordings("en")[0].samples(),
    "a high tone and a soft low one": np.sin(2 * np.pi * 7_900 * _SECONDS) + 1e-2 * np.sin(2 * np.pi * 90 * _SECONDS),
}


@pytest.mark.parametrize("sound", list(_SOUNDS))
@pytest.mark.parametrize("bins", [80, 128])
def test_features_are_those_of_transformers(bins: int, sound: str) -> None:
    audio = _SOUNDS[sound].astype(np.float32)
    extractor = WhisperFeatureExtractor(feature_size=bins, chunk_length=30)
    wanted = extractor(audio, sampling_rate=16_000, return_tensors="np").input_features[0]
    # transformers' own, in single precision too, is up to 1e-4 from what double precision gives for the two tones.
    assert np.abs(recognizer_module("features").LogMel(bins)(audio, 480_000) - wanted).max() < 2e-4


def test_silence_has_finite_features() -> None:
    assert np.isfinite(recognizer_module("features").LogMel(80)(np.zeros(100, np.float32), 16_000)).all()
