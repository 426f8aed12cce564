"""Embeddings and rerank: the product, its graph alone, a padded graph, sentence-transformers and infinity."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from frontend.dispatch.triton import Triton
from scripts.benchmark.common.inputs import Call
from scripts.benchmark.common.target import Target, own_product
from scripts.benchmark.lookalikes.repository import PADDED, Checkpoints, put_padded, put_text
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
_TRITON_SECONDS = 600.0
PRECISIONS: tuple[Precision, ...] = ("int8", "fp32")


def _mixed(rng: np.random.Generator, count: int, longest: int) -> list[str]:
    return [words(rng, length - 2) for length in lengths(rng, count, longest)]


def _tokens(texts: list[str]) -> int:
    return sum(text.count(" ") + 3 for text in texts)


class PaddedSide:
    """Callers who pad their own texts and send them to the padded model of the product's Triton."""

    def __init__(self, address: str, checkpoint: Path, calls: list[list[str]]) -> None:
        self._address, self._calls = address, calls
        self._tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
        self._tokenizer.enable_padding(pad_id=1, pad_token="<pad>")

    def _inputs(self, texts: list[str]) -> dict[str, NDArray[np.int64]]:
        encodings = self._tokenizer.encode_batch_fast(texts)
        ids = np.array([encoding.ids for encoding in encodings], np.int64)
        mask = np.array([encoding.attention_mask for encoding in encodings], np.int64)
        return {"input_ids": ids, "attention_mask": mask}

    def run(self) -> float:
        return asyncio.run(self._send())

    async def _send(self) -> float:
        triton = Triton(self._address)
        started = time.perf_counter()
        calls = (triton.infer(PADDED, self._inputs(texts), ["embedding"], _TRITON_SECONDS) for texts in self._calls)
        await asyncio.gather(*calls)
        seconds = time.perf_counter() - started
        await triton.close()
        return seconds


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
) -> tuple[dict[str, Side], dict[Precision, Target]]:
    """The product and its graph in both precisions, and where each answers; fp32 has the padded embedder beside it."""
    sides: dict[str, Side] = {}
    targets: dict[Precision, Target] = {}
    for precision in PRECISIONS:
        folder = put_text(bench.folder / precision, checkpoint, precision, reranker=reranker)
        also = [PADDED] if precision == "fp32" and not reranker else []
        if also:
            put_padded(bench.folder / precision, checkpoint)
        targets[precision] = stack.enter_context(own_product(bench.folder / precision, also))
        sides[f"Quartet {precision}"] = HttpSide(targets[precision], calls, len(calls))
        graph = stack.enter_context(bench.own_worker("packed_graph.py", folder, _TEXTS_A_RUN))
        sides[f"its {precision} graph in process"] = WorkerSide(graph, texts)
    return sides, targets


@contextmanager
def embeddings(bench: Bench) -> Iterator[Case]:
    """16 callers, each with 4 texts of 8 to 500 tokens."""
    checkpoint = Checkpoints(bench.folder).text(reranker=False)
    rng = np.random.default_rng(1)
    texts = [_mixed(rng, _TEXTS_A_CALL, _LONGEST) for _ in range(_CALLERS)]
    flat = [text for its in texts for text in its]
    with ExitStack() as stack:
        calls = _embeddings(texts, "embed-m3")
        sides, targets = _own_sides(stack, bench, checkpoint, calls, flat, reranker=False)
        sides["padded ONNX in the same Triton"] = PaddedSide(targets["fp32"].grpc, checkpoint, texts)
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
        sides, _ = _own_sides(stack, bench, checkpoint, calls, pairs, reranker=True)
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
