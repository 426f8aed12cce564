"""Embeddings and rerank: the product, sentence-transformers, infinity, and other engines."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from lab.peers.checkpoints import Checkpoints
from lab.peers.sides import Bench, Case, Opener, Side
from lab.peers.text_models import lengths, words
from scripts.benchmark.common.inputs import Call
from scripts.export_models.precisions import Precision

_CALLERS, _TEXTS_A_CALL = 16, 4
_RERANKERS, _DOCUMENTS = 8, 32
_QUERY = 8
# Texts per batch of sentence-transformers: faster than 32 on two cores.
_PADDED_BATCH = 8
_THREADS = 2
_PRECISIONS: tuple[Precision, ...] = ("int8", "fp32")


def embeddings(bench: Bench, name: str, longest: int) -> Case:
    """16 callers, each with 4 texts of 8 to ``longest`` tokens."""
    checkpoint = Checkpoints(bench.folder).text(reranker=False)
    rng = np.random.default_rng(1)
    texts = [_mixed(rng, _TEXTS_A_CALL, longest) for _ in range(_CALLERS)]
    flat = [text for one_call in texts for text in one_call]
    padded = "sentence-transformers in process"
    sides = {
        **_product(bench, _embeddings(texts, "embed-m3"), reranker=False),
        padded: bench.worker(bench.text_peers, flat, "sentence_encoder.py", checkpoint, _PADDED_BATCH),
        "infinity": _infinity(bench, checkpoint, _embeddings(texts, "m")),
        **_engines(bench, [[text] for text in flat]),
    }
    return Case(name, "tokens", sum(text.count(" ") + 3 for text in flat), sides)


def rerank(bench: Bench, name: str, longest: int) -> Case:
    """8 callers, each with 32 documents of 8 to ``longest`` tokens."""
    rng = np.random.default_rng(1)
    asked = [(words(rng, _QUERY), _mixed(rng, _DOCUMENTS, longest)) for _ in range(_RERANKERS)]
    pairs = [[query, text] for query, texts in asked for text in texts]
    checkpoint = Checkpoints(bench.folder).text(reranker=True)
    sides = {
        **_product(bench, _rerank_calls(asked, "rerank-v2-m3"), reranker=True),
        "infinity": _infinity(bench, checkpoint, _rerank_calls(asked, "m")),
        **_engines(bench, pairs),
    }
    return Case(name, "tokens", sum(_QUERY + text.count(" ") + 5 for _, text in pairs), sides)


def _mixed(rng: np.random.Generator, count: int, longest: int) -> list[str]:
    return [words(rng, length - 2) for length in lengths(rng, count, longest)]


def _embeddings(texts: list[list[str]], model: str) -> list[Call]:
    return [Call("/embeddings", 0, {"input": each, "model": model, "encoding_format": "base64"}) for each in texts]


def _rerank_calls(asked: list[tuple[str, list[str]]], model: str) -> list[Call]:
    return [Call("/rerank", 0, {"query": query, "documents": texts, "model": model}) for query, texts in asked]


def _product(bench: Bench, calls: list[Call], *, reranker: bool) -> dict[str, Opener]:
    """The product in both precisions, each exported at its first start."""

    def opener(precision: Precision) -> Opener:
        def start(stack: ExitStack) -> Side:
            repository = Checkpoints(bench.folder).repository(precision, reranker=reranker)
            return bench.product(repository, calls, len(calls))(stack)

        return start

    return {f"Quartet {precision}": opener(precision) for precision in _PRECISIONS}


def _infinity(bench: Bench, model: Path, calls: list[Call]) -> Opener:
    options = "--engine torch --no-model-warmup --device cpu --url-prefix /v1 --host 127.0.0.1 --port {port}"
    named = ("--model-id", model, "--served-model-name", "m")
    command = (bench.text_peers / "infinity_emb", "v2", *named, *options.split())
    return bench.server("infinity", command, "/health", calls, len(calls))


def _engines(bench: Bench, texts: Sequence[Sequence[str]]) -> dict[str, Opener]:
    """The fastest engines for processors, with texts one by one, without padding.

    They have no reranker's head, which is one row per pair: the embedder encodes pairs too.
    """
    model = Checkpoints(bench.folder).text(reranker=False)
    return {
        "OpenVINO int8 in process": bench.worker(bench.engines, texts, "text_openvino.py", model, _THREADS),
        "CTranslate2 int8 in process": bench.worker(bench.own, texts, "text_ctranslate.py", model, "int8", _THREADS),
    }
