"""Texts through one side: whether it gives the vectors of the product's fp32 graph on a processor, and how fast."""

from collections.abc import Callable
from functools import partial

import numpy as np

from scripts.benchmark.common.vectors import apart
from scripts.export_models.parity import Check
from scripts.gpu_check import lookalikes, operations
from scripts.gpu_check.inputs import Ids, mixtures, to_compare
from scripts.gpu_check.job import Job, Row

# The largest 1 - cosine: half precision gives a few millionths, and a token too many or too few much more.
_HALF_LIMIT, _SINGLE_LIMIT = 1e-4, 1e-6
_PAD = 1

# Puts texts where they are computed on; a call gives their vectors [texts, width].
Ready = Callable[[Ids], Callable[[], np.ndarray]]


def packed(texts: Ids) -> dict[str, np.ndarray]:
    """Texts end to end, as the product's graphs take them."""
    return {"input_ids": np.concatenate(texts), "lengths": np.array([len(text) for text in texts], np.int32)}


def block(texts: Ids) -> dict[str, np.ndarray]:
    """Texts side by side, padded to the longest: ``input_ids`` INT32 [texts, longest]."""
    ids = np.full((len(texts), max(map(len, texts))), _PAD, np.int32)
    for row, text in zip(ids, texts, strict=True):
        row[: len(text)] = text
    return {"input_ids": ids, "lengths": packed(texts)["lengths"]}


def measure(job: Job, side: str, ready: Ready) -> None:
    """Compare a side, then time it with each mixture of texts."""
    _compare(job, side, ready)
    width = lookalikes.vectors(job).shape[1]
    for length, texts in mixtures(job.size):
        lengths = [len(text) for text in texts]
        needed = operations.of_texts(lengths, job.size.layers, width)
        row = Row(side, "vectors", len(texts), f"{length} tokens", sum(lengths), needed)
        job.tell.measure(row, partial(ready, texts), job.size.runs)


def _compare(job: Job, side: str, ready: Ready) -> None:
    texts, wanted = to_compare(job.size), lookalikes.vectors(job)
    together = ready(texts)()
    alone = np.concatenate([ready([text])() for text in texts])
    limit = _HALF_LIMIT if job.half else _SINGLE_LIMIT
    longest = max(job.size.compared)
    for what, got, expected in (
        (f"1 - cosine from fp32 on the processor, {len(texts)} texts to {longest} tokens", together, wanted),
        ("1 - cosine of a text alone from itself in a batch", alone, together),
    ):
        job.tell.check(Check(side, what, apart(got, expected), limit))
