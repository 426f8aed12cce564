from typing import Any

import numpy as np
import openvino as ov
import pytest
import torch
from numpy.typing import NDArray
from transformers import WhisperForConditionalGeneration

from scripts.export_models.graphs.fast_int8 import FAST_INT8
from scripts.export_models.whisper.decoder import whisper_decoder
from scripts.export_models.whisper.encoder import whisper_encoder
from scripts.export_models.whisper.served import recognizer_module
from tests.unit.whisper.conftest import CHECKPOINT

TOKENS = np.array([[600, 602, 699, 20, 31], [600, 617, 699, 40, 7]], np.int32)
NOTHING = np.zeros((2, 4, 0, 32), np.float32)


@pytest.fixture(scope="module")
def checkpoint() -> Any:
    return WhisperForConditionalGeneration.from_pretrained(CHECKPOINT).float().eval()


@pytest.fixture(scope="module")
def features() -> NDArray[np.float32]:
    return np.random.default_rng(0).normal(size=(1, 80, 800)).astype(np.float32) / 4


@pytest.fixture(scope="module")
def decoder(checkpoint: Any, features: NDArray[np.float32]) -> Any:
    """Decodes two windows: gives the logits of the last of some tokens, behind others."""
    state, core = checkpoint.model.state_dict(), ov.Core()
    served = recognizer_module("graphs").Processor(1, FAST_INT8).settings
    exact = {**served, "INFERENCE_PRECISION_HINT": "f32"}
    encoded = core.compile_model(whisper_encoder(checkpoint.config, state), "CPU", exact)(features)
    compiled = core.compile_model(whisper_decoder(checkpoint.config, state), "CPU", exact)
    attended = {port.any_name: np.repeat(array, 2, axis=0) for port, array in encoded.items()}
    del attended["encoded"]

    def decode(tokens: NDArray[np.int32], past: dict[str, Any]) -> tuple[NDArray[np.float32], dict[str, Any]]:
        before, new = past["past_keys.0"].shape[2], tokens.shape[1]
        mask = np.triu(np.full((new, before + new), -1e9, np.float32), before + 1)
        given = {"tokens": tokens, "positions": np.arange(before, before + new, dtype=np.int32), "mask": mask}
        answer = {port.any_name: array for port, array in compiled({**given, **attended, **past}).items()}
        logits = answer.pop("logits")
        past = {name: np.concatenate([past[name], answer[name.replace("past", "new")]], axis=2) for name in past}
        return logits, past

    return decode


def _no_past(checkpoint: Any) -> dict[str, Any]:
    layers = range(checkpoint.config.decoder_layers)
    return {f"past_{part}.{layer}": NOTHING for layer in layers for part in ("keys", "values")}


def test_the_next_token_is_scored_as_by_the_original(
    checkpoint: Any, features: NDArray[np.float32], decoder: Any
) -> None:
    with torch.inference_mode():
        both = torch.from_numpy(np.repeat(features, 2, axis=0))
        original = checkpoint(both, decoder_input_ids=torch.from_numpy(TOKENS).long()).logits[:, -1].numpy()
    ours, _ = decoder(TOKENS, _no_past(checkpoint))
    assert np.linalg.norm(ours - original) < 0.02 * np.linalg.norm(original)


def test_tokens_one_by_one_are_scored_as_all_at_once(checkpoint: Any, decoder: Any) -> None:
    together, _ = decoder(TOKENS, _no_past(checkpoint))
    scores, past = together, _no_past(checkpoint)
    for at in range(TOKENS.shape[1]):
        scores, past = decoder(TOKENS[:, at : at + 1], past)
    assert np.allclose(scores, together, atol=1e-3)
