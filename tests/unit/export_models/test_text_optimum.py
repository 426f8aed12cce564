"""Graphs of encoders that optimum exports, as Triton runs them, against the originals in transformers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

from scripts.export_models import text_checks as checks
from scripts.export_models import text_optimum
from scripts.export_models.text import session, write

Ids = NDArray[np.int32]
START, SEPARATOR = 1, 2
_SMALL = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 1000,
    "max_position_embeddings": 514,
    "pad_token_id": 0,
}
# What a type names otherwise, or has besides.
_DEBERTA = {
    "relative_attention": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_buckets": 32,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pooler_hidden_size": 64,
}
_OF_TYPE: dict[str, dict[str, Any]] = {
    "deberta-v2": _DEBERTA,
    "distilbert": {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128},
    "electra": {"embedding_size": 32},
    # Layers that see 8 tokens to each side and layers that see all.
    "modernbert": {"global_attn_every_n_layers": 2, "local_attention": 16},
}
_TYPES = ("bert", "deberta-v2", "distilbert", "modernbert", "mpnet", "roberta")


def _config(kind: str, **values: Any) -> Any:
    config = AutoConfig.for_model(kind)
    # Not as arguments: some types compute one value from another.
    for name, value in {**_SMALL, **_OF_TYPE.get(kind, {}), **values}.items():
        setattr(config, name, value)
    torch.manual_seed(0)
    return config


def _tokens(*lengths: int) -> Ids:
    """Random texts of these lengths, each ended by a separator."""
    rng = np.random.default_rng(0)
    parts = [np.append(rng.integers(5, 1000, length), SEPARATOR) for length in lengths]
    return np.concatenate([[START], *parts]).astype(np.int32)


TEXTS = [_tokens(length) for length in (1, 5, 58, 127, 128, 400)]
PAIRS = [_tokens(length, length + 3) for length in (1, 5, 58, 200)]


def _run(graph: Any, folder: Path) -> Callable[[list[Ids]], NDArray[np.float32]]:
    write(graph, "fp32", folder, max_tokens=512)
    return session(folder)


def _vector(model: Any, pooling: str, text: Ids) -> Any:
    with torch.inference_mode():
        hidden = model(input_ids=torch.from_numpy(text.astype(np.int64))[None]).last_hidden_state[0]
    return torch.nn.functional.normalize(hidden.mean(0) if pooling == "mean" else hidden[0], dim=0).numpy()


@pytest.mark.parametrize("kind", _TYPES)
def test_vectors_are_the_originals_alone_and_in_a_batch(kind: str, tmp_path: Path) -> None:
    model = AutoModel.from_config(_config(kind)).float().eval()
    run = _run(text_optimum.embedder(model, "mean"), tmp_path)
    wanted = np.stack([_vector(model, "mean", text) for text in TEXTS])
    assert checks.exact(kind, run, TEXTS, wanted).failed is False
    assert checks.batch_invariant(kind, run, TEXTS).failed is False


def test_the_first_token_can_be_the_vector(tmp_path: Path) -> None:
    model = AutoModel.from_config(_config("mpnet")).float().eval()
    run = _run(text_optimum.embedder(model, "cls"), tmp_path)
    assert checks.exact("mpnet", run, TEXTS, np.stack([_vector(model, "cls", text) for text in TEXTS])).failed is False


def test_an_encoder_that_reads_its_padding_fails_the_check_of_batches(tmp_path: Path) -> None:
    model = AutoModel.from_config(_config("convbert")).float().eval()
    assert checks.batch_invariant("convbert", _run(text_optimum.embedder(model, "mean"), tmp_path), TEXTS).failed


@pytest.mark.parametrize("kind", ["deberta-v2", "electra", "bert"])
def test_scores_of_pairs_are_the_originals(kind: str, tmp_path: Path) -> None:
    model = AutoModelForSequenceClassification.from_config(_config(kind, num_labels=1)).float().eval()
    # Large weights of the last layer, so that the scores differ.
    torch.nn.init.normal_([layer for layer in model.modules() if isinstance(layer, torch.nn.Linear)][-1].weight)
    wanted = []
    for pair in PAIRS:
        ids, end = torch.from_numpy(pair.astype(np.int64))[None], pair.tolist().index(SEPARATOR) + 1
        types = (torch.arange(len(pair)) >= end).long()[None]
        with torch.inference_mode():
            wanted.append(torch.sigmoid(model(input_ids=ids, token_type_ids=types).logits[0, 0]).numpy())
    assert np.ptp(wanted) > 0.001
    run = _run(text_optimum.scorer(model, SEPARATOR), tmp_path)
    assert checks.exact(kind, run, PAIRS, np.stack(wanted)).failed is False
