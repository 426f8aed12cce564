"""Checkpoints with the size and file layout of M3's embedder and reranker and with random weights, for all sides.

The tokenizer knows only whole words, so a text of n words has n + 2 tokens.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import XLMRobertaConfig, XLMRobertaForSequenceClassification, XLMRobertaModel, XLMRobertaTokenizerFast

WORDS = 5000
# In the order of XLM-R's ids.
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
_SHORTEST = 8
_POSITIONS = 8194
_PIPELINE = ("Transformer", "Pooling", "Normalize")


def words(rng: np.random.Generator, count: int) -> str:
    """A text of ``count`` words of the vocabulary."""
    return " ".join(f"w{word}" for word in rng.integers(0, WORDS, count))


def lengths(rng: np.random.Generator, count: int, longest: int = 500) -> list[int]:
    """Numbers of tokens, evenly spread over the orders of magnitude from 8 to ``longest``."""
    found: list[int] = np.exp(rng.uniform(np.log(_SHORTEST), np.log(longest), count)).astype(int).tolist()
    return found


def _tokenizer() -> XLMRobertaTokenizerFast:
    pieces = [(piece, 0.0) for piece in _SPECIAL] + [(f"▁w{word}", -9.0) for word in range(WORDS)]
    unigram = Tokenizer(models.Unigram(pieces, unk_id=_SPECIAL.index("<unk>")))
    unigram.pre_tokenizer = pre_tokenizers.Metaspace()
    unigram.decoder = decoders.Metaspace()
    unigram.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return XLMRobertaTokenizerFast(tokenizer_object=unigram, model_max_length=_POSITIONS - 2)


def write(folder: Path, *, reranker: bool, layers: int = 24) -> None:
    """A checkpoint in ``folder``, with the files that sentence-transformers reads too."""
    folder.mkdir(parents=True)
    _tokenizer().save_pretrained(folder)
    _model(layers, reranker=reranker).save_pretrained(folder)
    if not reranker:
        _write_pipeline(folder)


def _model(layers: int, *, reranker: bool) -> Any:
    config = XLMRobertaConfig(
        vocab_size=len(_SPECIAL) + WORDS + 1,
        hidden_size=1024,
        num_hidden_layers=layers,
        num_attention_heads=16,
        intermediate_size=4096,
        max_position_embeddings=_POSITIONS,
        layer_norm_eps=1e-5,
        type_vocab_size=1,
        num_labels=1,
    )
    torch.manual_seed(0)
    kind = XLMRobertaForSequenceClassification if reranker else XLMRobertaModel
    return kind(config).eval()


def _write_pipeline(folder: Path) -> None:
    named = {at: f"{at}_{name}" if at else "" for at, name in enumerate(_PIPELINE)}
    kinds = enumerate(f"sentence_transformers.models.{name}" for name in _PIPELINE)
    modules = [{"idx": at, "name": str(at), "path": named[at], "type": kind} for at, kind in kinds]
    pooling = {"word_embedding_dimension": 1024, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    longest = {"max_seq_length": _POSITIONS - 2, "do_lower_case": False}
    for at in (1, 2):
        (folder / named[at]).mkdir()
    files = {"modules.json": modules, "sentence_bert_config.json": longest, "1_Pooling/config.json": pooling}
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
