import importlib
from types import ModuleType

import numpy as np
import pytest
from transformers import WhisperFeatureExtractor


@pytest.mark.parametrize("bins", [80, 128])
def test_features_are_those_of_transformers(module: ModuleType, bins: int) -> None:
    features = importlib.import_module("features")
    audio = np.random.default_rng(0).normal(0, 0.1, 50_000).astype(np.float32)
    extractor = WhisperFeatureExtractor(feature_size=bins, chunk_length=30)
    wanted = extractor(audio, sampling_rate=16_000, return_tensors="np").input_features[0]
    assert np.abs(features.LogMel(bins)(audio, 480_000) - wanted).max() < 1e-4


def test_silence_has_finite_features(module: ModuleType) -> None:
    features = importlib.import_module("features")
    assert np.isfinite(features.LogMel(80)(np.zeros(100, np.float32), 16_000)).all()
