"""The packed graph against the plain padded one that optimum exports, the usual way to serve such a model."""

from pathlib import Path

import numpy as np
import pytest
from optimum.onnxruntime import ORTModelForFeatureExtraction
from transformers import XLMRobertaModel

from scripts.export_models.text import models
from tests import lookalikes
from tests.unit.export_models.text.small import load

_PAD = 1


@pytest.mark.filterwarnings("ignore")
def test_packed_and_padded_graphs_give_the_same_vectors(tmp_path: Path) -> None:
    lookalikes.text_model(tmp_path / "source", reranker=False)
    rng = np.random.default_rng(4)
    texts = [rng.integers(5, 90, length).astype(np.int32) for length in (3, 40, 11, 200)]
    block = np.full((len(texts), 200), _PAD, np.int64)
    for row, text in zip(block, texts, strict=True):
        row[: len(text)] = text
    padded = ORTModelForFeatureExtraction.from_pretrained(tmp_path / "source", export=True)
    hidden = padded(input_ids=block, attention_mask=(block != _PAD).astype(np.int64)).last_hidden_state[:, 0]
    wanted = hidden / np.linalg.norm(hidden, axis=1, keepdims=True)
    model = XLMRobertaModel.from_pretrained(tmp_path / "source").eval()
    run = load(models.embedder(models.checkpoint_of(model), "fp32", "cls"), tmp_path)
    assert np.abs(run(texts) - wanted).max() < 1e-5
