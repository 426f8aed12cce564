"""The decoder's graph compared with ``transformers``, with the same keys and values of a window."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import openvino as ov
import pytest
import torch
from numpy.typing import NDArray

from scripts.export_models.precisions import FAST_INT8
from scripts.export_models.triton_code import recognizer_module
from scripts.export_models.whisper import CANDIDATES, whisper_decoder
from tests.checkpoints import whisper_base

# Start, English, transcribe, no timestamps, and two words; the same in French.
ENGLISH, FRENCH = [50258, 50259, 50359, 50363, 440, 2170], [50258, 50265, 50359, 50363, 1456, 30010]
HEADS = json.loads((whisper_base() / "generation_config.json").read_text(encoding="utf-8"))["alignment_heads"]

Float = NDArray[np.float32]


class Decoding:
    """A decoder in float32, and its window."""

    def __init__(self, checkpoint: Any, encoded: Float) -> None:
        graph = whisper_decoder(checkpoint.config, checkpoint.model.state_dict(), HEADS)
        settings = recognizer_module("graphs").Processor(1, FAST_INT8, exact=True).settings
        self._compiled = ov.Core().compile_model(graph, "CPU", settings)
        self._attended = dict(_attended(checkpoint, encoded))
        self._vocabulary = checkpoint.config.vocab_size
        self.begin()

    def begin(self, windows: int = 1) -> None:
        self._request, self._past, self._windows = self._compiled.create_infer_request(), 0, windows

    def step(self, tokens: Sequence[Sequence[int]], parents: Sequence[int], bias: Float | None = None) -> Any:
        new = len(tokens[0])
        given = {
            "tokens": np.array(tokens, np.int32),
            "parents": np.array(parents, np.int32),
            "positions": np.arange(self._past, self._past + new, dtype=np.int32),
            "mask": np.triu(np.full((new, self._past + new), -1e9, np.float32), self._past + 1),
            "bias": np.zeros(self._vocabulary, np.float32) if bias is None else bias,
        }
        attended = {name: np.repeat(array, self._windows, axis=0) for name, array in self._attended.items()}
        self._past += new
        return {port.any_name: array for port, array in self._request.infer({**given, **attended}).items()}


def _attended(checkpoint: Any, encoded: Float) -> Any:
    heads, rows = checkpoint.config.decoder_attention_heads, torch.from_numpy(encoded)
    for number, layer in enumerate(checkpoint.model.decoder.layers):
        attention = layer.encoder_attn
        for name, part, scale in (
            ("keys", attention.k_proj, attention.head_dim**-0.5),
            ("values", attention.v_proj, 1.0),
        ):
            with torch.inference_mode():
                split = (part(rows) * scale).reshape(1, rows.shape[1], heads, -1).transpose(1, 2)
            yield f"{name}.{number}", np.ascontiguousarray(split.numpy())


@pytest.fixture(scope="module")
def decoding(checkpoint: Any, encoded: Float) -> Decoding:
    return Decoding(checkpoint, encoded)


def _original(checkpoint: Any, encoded: Float, tokens: list[int]) -> Any:
    with torch.inference_mode():
        return checkpoint(encoder_outputs=(torch.from_numpy(encoded),), decoder_input_ids=torch.tensor([tokens]))


def _apart(ours: Float, theirs: Float) -> float:
    """How far the log probabilities of the fifty likeliest tokens are from theirs, on average."""
    likeliest = np.argsort(-theirs)[:50]
    one, other = (scores - np.log(np.exp(scores - scores.max()).sum()) - scores.max() for scores in (ours, theirs))
    return float(np.abs(one - other)[likeliest].mean())


def test_the_next_token_is_scored_as_by_the_original(checkpoint: Any, encoded: Float, decoding: Decoding) -> None:
    decoding.begin()
    (ours,) = decoding.step([ENGLISH], [0])["logits"]
    assert _apart(ours, _original(checkpoint, encoded, ENGLISH).logits[0, -1].numpy()) < 0.1


def test_tokens_one_by_one_have_the_scores_of_all_at_once(decoding: Decoding) -> None:
    decoding.begin()
    (together,) = decoding.step([ENGLISH], [0])["logits"]
    decoding.begin()
    alone = [decoding.step([[token]], [0])["logits"][0] for token in ENGLISH][-1]
    assert _apart(alone, together) < 0.06


def test_a_row_continues_its_parent(decoding: Decoding) -> None:
    decoding.begin()
    decoding.step([ENGLISH[:-1], FRENCH[:-1]], [0, 1])
    crossed = decoding.step([FRENCH[-1:], ENGLISH[-1:]], [1, 0])["logits"]
    for ours, tokens in zip(crossed, (FRENCH, ENGLISH), strict=True):
        decoding.begin()
        assert _apart(ours, decoding.step([tokens], [0])["logits"][0]) < 0.06


def test_each_window_has_its_rows_next_to_each_other(decoding: Decoding) -> None:
    """Two equal windows with two rows each."""
    decoding.begin(windows=2)
    four = decoding.step([ENGLISH, FRENCH, FRENCH, ENGLISH], [0, 1, 2, 3])["logits"]
    decoding.begin()
    english, french = decoding.step([ENGLISH, FRENCH], [0, 1])["logits"]
    for ours, wanted in zip(four, (english, french, french, english), strict=True):
        assert _apart(ours, wanted) < 0.06


def test_the_candidates_are_the_highest_logits_with_the_bias(checkpoint: Any, decoding: Decoding) -> None:
    bias = np.zeros(checkpoint.config.vocab_size, np.float32)
    bias[::2] = -np.inf
    decoding.begin()
    answer = decoding.step([ENGLISH], [0], bias)
    wanted = answer["logits"][0] + bias
    order = np.argsort(-wanted, kind="stable")[:CANDIDATES]
    assert answer["candidates"][0].tolist() == order.tolist()
    assert answer["scores"][0] == pytest.approx(wanted[order], abs=1e-3)
    assert answer["log_sum"].item() == pytest.approx(np.log(np.exp(wanted.astype(np.float64)).sum()), abs=1e-3)


def test_queries_attend_to_the_window_as_the_originals_alignment_heads_do(
    checkpoint: Any, encoded: Float, decoding: Decoding
) -> None:
    checkpoint.set_attn_implementation("eager")
    with torch.inference_mode():
        theirs = checkpoint(
            encoder_outputs=(torch.from_numpy(encoded),),
            decoder_input_ids=torch.tensor([ENGLISH]),
            output_attentions=True,
        ).cross_attentions
    decoding.begin()
    (queries,) = decoding.step([ENGLISH], [0])["queries"]
    for query, (layer, head) in zip(queries, sorted(HEADS, key=lambda pair: pair[0]), strict=True):
        scores = query @ decoding._attended[f"keys.{layer}"][0, head].T
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        assert np.abs(shares - theirs[layer][0, head].numpy()).sum(axis=1).max() < 0.1
