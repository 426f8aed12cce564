"""Operations are counted as PyTorch counts them."""

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import WhisperConfig, WhisperModel, XLMRobertaConfig, XLMRobertaModel

from scripts.gpu_check import operations

_LENGTHS = [5, 40]
# Of attention in one operator, PyTorch counts nothing on a processor.
_ATTENTION = {"attn_implementation": "eager"}


def _counted(model: Any, **inputs: torch.Tensor) -> int:
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        model(**inputs)
    return int(counter.get_total_flops())


def test_an_encoder_is_counted_but_for_what_its_last_layer_leaves_out() -> None:
    config = XLMRobertaConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=256, **_ATTENTION
    )
    model = XLMRobertaModel(config).eval()
    whole = sum(_counted(model, input_ids=torch.full((1, length), 5)) for length in _LENGTHS)
    # The model's own pooler over first tokens, and output and feed-forward of all others in the last layer.
    pooler = len(_LENGTHS) * 2 * 64**2
    left_out = sum(length - 1 for length in _LENGTHS) * 18 * 64**2
    assert operations.of_texts(_LENGTHS, 2, 64) == whole - pooler - left_out


@pytest.fixture(scope="module")
def whisper() -> Any:
    config = WhisperConfig(
        num_mel_bins=128,
        d_model=64,
        encoder_layers=3,
        decoder_layers=4,
        encoder_ffn_dim=256,
        decoder_ffn_dim=256,
        **_ATTENTION,
    )
    config.encoder_attention_heads = config.decoder_attention_heads = 2
    return WhisperModel(config).eval()


def test_an_encoder_of_windows_is_counted(whisper: Any) -> None:
    counted = _counted(whisper.encoder, input_features=torch.zeros(2, 128, 3000))
    assert operations.of_encoding(2, 3, 64) == counted


def test_a_decoder_is_counted_but_for_its_attention_to_itself(whisper: Any) -> None:
    counted = _counted(
        whisper.decoder, input_ids=torch.ones(1, 1, dtype=torch.long), encoder_hidden_states=torch.zeros(1, 1500, 64)
    )
    to_itself, entries = 4 * 4 * 64, 2 * 64 * 51_866
    assert operations.of_decoding(1, 64, 1) == counted - to_itself + entries
