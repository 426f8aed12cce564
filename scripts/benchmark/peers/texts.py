"""Embeddings and rerank: the product, its graph alone, sentence-transformers, infinity, and other engines."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from scripts.benchmark.common.inputs import Call
from scripts.benchmark.lookalikes.repository import Checkpoints, put_text
from scripts.benchmark.lookalikes.text import lengths, words
from scripts.benchmark.peers.sides import Bench, Case, Opener
from scripts.export_models.text.encoder import Precision

_CALLERS, _TEXTS_A_CALL = 16, 4
_RERANKERS, _DOCUMENTS = 8, 32
_QUERY = 8
# Of 8 and 32 texts the better for sentence-transformers on two cores.
_PADDED_BATCH = 8
# The same for our graph: more gain nothing, fewer lose.
_TEXTS_A_RUN = 32
_THREADS = 2
PRECISIONS: tuple[Precision, ...] = ("int8", "fp32")


def _mixed(rng: np.random.Generator, count: int, longest: int) -> list[str]:
    return [words(rng, length - 2) for length in lengths(rng, count, longest)]


def _tokens(texts: list[str]) -> int:
    return sum(text.count(" ") + 3 for text in texts)


def _infinity(bench: Bench, model: Callable[[], Path], calls: list[Call], engine: str = "torch") -> Opener:
    """infinity in the folder that ``model`` gives, where alone optimum's engine finds its graph."""
    options = f"--engine {engine} --no-model-warmup --device cpu --url-prefix /v1 --host 127.0.0.1 --port {{port}}"
    command = (bench.text_peers / "infinity_emb", "v2", "--model-id", ".", "--served-model-name", "m", *options.split())
    name = f"infinity-{engine}"
    return _of_export(
        model, lambda folder: bench.server(name, ("env", "-C", folder, *command), "/health", calls, len(calls))
    )


def _embeddings(texts: list[list[str]], model: str) -> list[Call]:
    return [Call("/embeddings", 0, {"input": its, "model": model, "encoding_format": "base64"}) for its in texts]


def _own_sides(
    bench: Bench, checkpoint: Path, calls: list[Call], texts: Sequence[Any], *, reranker: bool
) -> dict[str, Opener]:
    """The product and its graph in both precisions, which are exported when they are started."""
    sides: dict[str, Opener] = {}
    for precision in PRECISIONS:
        put = partial(put_text, bench.folder / precision, checkpoint, precision, reranker=reranker)
        sides[f"Quartet {precision}"] = _of_export(
            put, lambda folder: bench.product(folder.parents[1], calls, len(calls))
        )
        sides[f"its {precision} graph in process"] = _of_export(
            put, lambda folder: bench.worker(bench.own, texts, "packed_graph.py", folder, _TEXTS_A_RUN)
        )
    return sides


def _of_export(put: Callable[[], Path], start: Callable[[Path], Opener]) -> Opener:
    return lambda stack: start(put())(stack)


def _engines(bench: Bench, texts: list[list[str]], tokens: int) -> dict[str, Opener]:
    """The strongest engines of processors, texts one by one, which pads nothing; and what the machine allows.

    They encode pairs too as the embedder does, without the reranker's head: of each pair that is one row.
    """
    checkpoints = Checkpoints(bench.folder)
    checkpoint = checkpoints.text(reranker=False)
    named = "text_openvino.py", checkpoint
    return {
        "OpenVINO int8 in process": bench.worker(bench.engines, texts, *named, "int8", _THREADS),
        "OpenVINO bf16 in process": bench.worker(bench.engines, texts, *named, "bf16", _THREADS),
        "CTranslate2 int8 in process": bench.worker(
            bench.own, texts, "text_ctranslate.py", checkpoint, "int8", _THREADS
        ),
        "ONNX Runtime fused, dynamic int8, in process": _of_export(
            checkpoints.padded_text,
            lambda folder: bench.worker(bench.own, texts, "text_onnxruntime.py", folder, _THREADS),
        ),
        "the machine's limit: products alone": bench.worker(bench.own, tokens, "limit.py", "text", _THREADS),
    }


def embeddings(bench: Bench, name: str, longest: int) -> Case:
    """16 callers, each with 4 texts of 8 to ``longest`` tokens."""
    checkpoints = Checkpoints(bench.folder)
    checkpoint = checkpoints.text(reranker=False)
    rng = np.random.default_rng(1)
    texts = [_mixed(rng, _TEXTS_A_CALL, longest) for _ in range(_CALLERS)]
    flat = [text for its in texts for text in its]
    padded = "sentence-transformers in process"
    sides = {
        **_own_sides(bench, checkpoint, _embeddings(texts, "embed-m3"), flat, reranker=False),
        padded: bench.worker(bench.text_peers, flat, "sentence_encoder.py", checkpoint, _PADDED_BATCH),
        "infinity": _infinity(bench, lambda: checkpoint, _embeddings(texts, "m")),
        "infinity with optimum": _infinity(bench, checkpoints.padded_text, _embeddings(texts, "m"), "optimum"),
        **_engines(bench, [[text] for text in flat], _tokens(flat)),
    }
    # Every export holds it to 1e-5 of the original.
    return Case(name, "tokens", _tokens(flat), sides, trained="its fp32 graph in process")


def _rerank_calls(asked: list[tuple[str, list[str]]], model: str) -> list[Call]:
    return [Call("/rerank", 0, {"query": query, "documents": texts, "model": model}) for query, texts in asked]


def rerank(bench: Bench, name: str, longest: int) -> Case:
    """8 callers, each with 32 documents of 8 to ``longest`` tokens."""
    checkpoint = Checkpoints(bench.folder).text(reranker=True)
    rng = np.random.default_rng(1)
    asked = [(words(rng, _QUERY), _mixed(rng, _DOCUMENTS, longest)) for _ in range(_RERANKERS)]
    pairs = [[query, text] for query, texts in asked for text in texts]
    tokens = sum(_QUERY + text.count(" ") + 5 for _, text in pairs)
    sides = {
        **_own_sides(bench, checkpoint, _rerank_calls(asked, "rerank-v2-m3"), pairs, reranker=True),
        "CrossEncoder in process": bench.worker(bench.text_peers, pairs, "cross_encoder.py", checkpoint, _PADDED_BATCH),
        "infinity": _infinity(bench, lambda: checkpoint, _rerank_calls(asked, "m")),
        **_engines(bench, pairs, tokens),
    }
    return Case(name, "tokens", tokens, sides)
