"""The demo's reranker, which compares the two texts of a pair with an embedder."""

from pathlib import Path

import numpy as np
import torch
from transformers import BertConfig, BertModel

from scripts.export_models.demo import reranker
from scripts.export_models.text import models
from tests.unit.export_models.text.small import SIZES, load


def test_a_pair_is_split_at_its_first_separator(tmp_path: Path) -> None:
    torch.manual_seed(0)
    checkpoint = models.checkpoint_of(BertModel(BertConfig(**SIZES, max_position_embeddings=512)).eval())
    run = load(reranker.graph(checkpoint, 1, 2, "fp32"), tmp_path)
    embed = load(models.embedder(checkpoint, "fp32", "mean"), tmp_path / "embedder")
    left, right = np.array([1, 50, 60, 2], np.int32), np.array([1, 70, 2, 80, 2], np.int32)
    cosine = float(np.dot(*embed([left, right])))
    other = np.array([1, 9, 2, 9, 2], np.int32)
    pair = np.concatenate([left, right[1:]])
    assert abs(run([other, pair])[1] - reranker.score(cosine)) < 1e-5
