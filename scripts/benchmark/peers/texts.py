"""Embeddings and rerank: the product, its graph alone, sentence-transformers and infinity."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from scripts.benchmark.common.inputs import Call
from scripts.benchmark.common.target import Target, own_product
from scripts.benchmark.lookalikes.repository import Checkpoints, put_text
from scripts.benchmark.lookalikes.text import lengths, words
from scripts.benchmark.peers.sides import Bench, Case, HttpSide, Side, WorkerSide, server, worker
from scripts.export_models.text.encoder import Precision

_CALLERS, _TEXTS_A_CALL = 16, 4
_LONGEST = 500
_RERANKERS, _DOCUMENTS = 8, 32
_LONGEST_PASSAGE = 150
_QUERY = 8
# Of 8 and 32 texts the better for sentence-transformers on two cores.
_PADDED_BATCH = 8
# The same for our graph: more gain nothing, fewer lose.
_TEXTS_A_RUN = 32
PRECISIONS: tuple[Precision, ...] = ("int8", "fp32")


def _mixed(rng: np.random.Generator, count: int, longest: int) -> list[str]:
    return [words(rng, length - 2) for length in lengths(rng, count, longest)]


def _tokens(texts: list[str]) -> int:
    return sum(text.count(" ") + 3 for text in texts)


@contextmanager
def _infinity(bench: Bench, checkpoint: Path) -> Iterator[Target]:
    command = (bench.text_peers / "infinity_emb", "v2", "--model-id", checkpoint, "--served-model-name", "m")
    options = "--engine torch --no-model-warmup --device cpu --url-prefix /v1 --host 127.0.0.1 --port {port}"
    with server((*command, *options.split()), "/health", bench.log("infinity")) as address:
        yield Target(f"{address}/v1", "", "")


def _embeddings(texts: list[list[str]], model: str) -> list[Call]:
    return [Call("/embeddings", 0, {"input": its, "model": model, "encoding_format": "base64"}) for its in texts]


def _own_sides(
    stack: ExitStack, bench: Bench, checkpoint: Path, calls: list[Call], texts: Sequence[Any], *, reranker: bool
) -> dict[str, Side]:
    """The product and its graph in both precisions."""
    sides: dict[str, Side] = {}
    for precision in PRECISIONS:
        folder = put_text(bench.folder / precision, checkpoint, precision, reranker=reranker)
        target = stack.enter_context(own_product(bench.folder / precision))
        sides[f"Quartet {precision}"] = HttpSide(target, calls, len(calls))
        graph = stack.enter_context(bench.own_worker("packed_graph.py", folder, _TEXTS_A_RUN))
        sides[f"its {precision} graph in process"] = WorkerSide(graph, texts)
    return sides


@contextmanager
def embeddings(bench: Bench) -> Iterator[Case]:
    """16 callers, each with 4 texts of 8 to 500 tokens."""
    checkpoint = Checkpoints(bench.folder).text(reranker=False)
    rng = np.random.default_rng(1)
    texts = [_mixed(rng, _TEXTS_A_CALL, _LONGEST) for _ in range(_CALLERS)]
    flat = [text for its in texts for text in its]
    with ExitStack() as stack:
        calls = _embeddings(texts, "embed-m3")
        sides = _own_sides(stack, bench, checkpoint, calls, flat, reranker=False)
        python = bench.text_peers / "python"
        encoder = worker(python, bench.log("sentence-transformers"), "sentence_encoder.py", checkpoint, _PADDED_BATCH)
        sides["sentence-transformers in process"] = WorkerSide(stack.enter_context(encoder), flat)
        infinity = stack.enter_context(_infinity(bench, checkpoint))
        sides["infinity"] = HttpSide(infinity, _embeddings(texts, "m"), _CALLERS)
        yield Case("embeddings", "tokens", _tokens(flat), sides)


def _reranks(rng: np.random.Generator, longest: int) -> list[tuple[str, list[str]]]:
    return [(words(rng, _QUERY), _mixed(rng, _DOCUMENTS, longest)) for _ in range(_RERANKERS)]


def _rerank_calls(asked: list[tuple[str, list[str]]], model: str) -> list[Call]:
    return [Call("/rerank", 0, {"query": query, "documents": texts, "model": model}) for query, texts in asked]


@contextmanager
def _rerank(bench: Bench, name: str, longest: int) -> Iterator[Case]:
    checkpoint = Checkpoints(bench.folder).text(reranker=True)
    asked = _reranks(np.random.default_rng(1), longest)
    pairs = [[query, text] for query, texts in asked for text in texts]
    with ExitStack() as stack:
        calls = _rerank_calls(asked, "rerank-v2-m3")
        sides = _own_sides(stack, bench, checkpoint, calls, pairs, reranker=True)
        python = bench.text_peers / "python"
        encoder = worker(python, bench.log("cross-encoder"), "cross_encoder.py", checkpoint, _PADDED_BATCH)
        sides["CrossEncoder in process"] = WorkerSide(stack.enter_context(encoder), pairs)
        infinity = stack.enter_context(_infinity(bench, checkpoint))
        sides["infinity"] = HttpSide(infinity, _rerank_calls(asked, "m"), _RERANKERS)
        tokens = sum(_QUERY + text.count(" ") + 5 for _, texts in asked for text in texts)
        yield Case(name, "tokens", tokens, sides)


def rerank(bench: Bench) -> AbstractContextManager[Case]:
    """8 callers, each with 32 documents of 8 to 500 tokens."""
    return _rerank(bench, "rerank", _LONGEST)


def rerank_passages(bench: Bench) -> AbstractContextManager[Case]:
    """8 callers, each with 32 documents of 8 to 150 tokens."""
    return _rerank(bench, "rerank of passages", _LONGEST_PASSAGE)
