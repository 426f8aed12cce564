"""Compares an exported text model with its original, and a text alone with the same text in a batch.

A graph in fp16 is for CUDA, and no processor has its attention. What is compared is the original in half precision: it
says whether the checkpoint bears fp16. Tests compare the graph.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.modules.module import register_module_forward_hook

from scripts.export_models.parity import Check

# Lengths of the compared texts, in tokens.
_LENGTHS = (3, 4, 7, 16, 60, 129, 500, 2048, 8192)
# The largest difference between two float32 numbers that should be equal.
_EXACT_LIMIT = 1e-5
# The largest fp16 is 65,504; half of it is left for other texts.
_LARGEST_LIMIT = 65_504 / 2


@dataclass(frozen=True)
class Limits:
    """Limits of ``precision`` for vectors (1 - cosine), scores, and the share of pairs in another order.

    The limit for ``weights`` of tokens is the length of the difference as a share of theirs.
    """

    precision: str
    cosine: float
    score: float
    order: float
    weights: float


INT8 = Limits("int8", cosine=1e-3, score=2.5e-2, order=2e-2, weights=1e-1)
BF16 = Limits("bf16", cosine=2e-4, score=1e-2, order=1e-2, weights=4e-2)
FP16 = Limits("fp16", cosine=1e-4, score=5e-3, order=1e-2, weights=2e-2)
FP32 = Limits("fp32", cosine=0, score=0, order=0, weights=1e-5)

Ids = list[NDArray[np.int32]]
Run = Callable[[Ids], NDArray[np.float32]]
# The same to the weights [tokens] of the tokens of each text.
Weigh = Callable[[Ids], list[NDArray[np.float32]]]


def of_every_length(tokenizer: Any, longest: int, *, pair: bool) -> Ids:
    """Random texts of every length up to ``longest``, or pairs, with the tokenizer's special tokens."""
    rng = np.random.default_rng(20)
    framed = tokenizer("a", "b").input_ids if pair else tokenizer("a").input_ids
    special = set(tokenizer.all_special_ids)
    ordinary = np.array([i for i in range(len(tokenizer)) if i not in special])
    slots = [place for place, token in enumerate(framed) if token not in special]
    texts = []
    for length in _LENGTHS:
        if len(framed) <= length <= longest:
            missing = length - len(framed) + len(slots)
            first = slots[0]
            filler = rng.choice(ordinary, missing - (len(slots) - 1))
            text = [*framed[:first], *filler.tolist(), *framed[first + 1 :]]
            texts.append(np.array(text, np.int32))
    return texts


def batch_invariant(name: str, run: Run | Weigh, texts: Ids, what: str = "text") -> Check:
    """The largest difference between a text's row, or its weights, alone and in a batch with all others."""
    together = run(texts)
    change = max(float(np.abs(run([text])[0] - row).max()) for text, row in zip(texts, together, strict=True))
    return Check(name, f"{what} alone and in a batch", change, _EXACT_LIMIT)


def exact(name: str, run: Run, texts: Ids, wanted: NDArray[np.float32]) -> Check:
    """The largest difference of any number from the original's answers, ``wanted``."""
    difference = float(np.abs(run(texts) - wanted).max())
    return Check(name, f"fp32: {len(texts)} texts to {max(map(len, texts))} tokens", difference, _EXACT_LIMIT)


def close(name: str, limits: Limits, run: Run, texts: Ids, wanted: NDArray[np.float32]) -> list[Check]:
    """How far the answers are from the original's, ``wanted``, and how often two texts are in another order.

    Answers are vectors [texts, width] or scores [pairs].
    """
    got, precision = run(texts), limits.precision
    if got.ndim == 1:
        loss = Check(name, f"{precision}: score", float(np.abs(got - wanted).max()), limits.score)
        return [loss, Check(name, f"{precision}: pairs in another order", disorder(wanted, got), limits.order)]
    turned = float((1 - (got * wanted).sum(axis=1)).max())
    changed = [disorder(*(np.delete(rows @ rows[at], at) for rows in (wanted, got))) for at in range(len(texts))]
    return [
        Check(name, f"{precision}: 1 - cosine", turned, limits.cosine),
        Check(name, f"{precision}: neighbours in another order", float(np.mean(changed)), limits.order),
    ]


def token_weights(name: str, limits: Limits, weigh: Weigh, texts: Ids, wanted: list[NDArray[np.float32]]) -> Check:
    """How far the weights of all tokens are from the original's, ``wanted``."""
    expected = np.concatenate(wanted)
    error = np.linalg.norm(np.concatenate(weigh(texts)) - expected) / max(float(np.linalg.norm(expected)), 1e-12)
    return Check(name, f"{limits.precision}: token weights", float(error), limits.weights)


def disorder(wanted: NDArray[np.float32], got: NDArray[np.float32]) -> float:
    """The share of pairs that two lists of scores [n] put in different orders (normalised Kendall tau distance)."""
    one, other = np.triu_indices(len(wanted), 1)
    return float(np.mean((wanted[one] < wanted[other]) != (got[one] < got[other])))


@contextmanager
def largest_activation() -> Iterator[Callable[[], float]]:
    """Within the block, watch what all PyTorch modules give; yields what returns the largest absolute number so far."""
    largest = 0.0

    def look(module: torch.nn.Module, given: Any, output: Any) -> None:
        nonlocal largest
        if isinstance(output, torch.Tensor) and output.is_floating_point():
            largest = max(largest, float(output.abs().max()))

    watching = register_module_forward_hook(look)
    try:
        yield lambda: largest
    finally:
        watching.remove()


def fp16(name: str, run: Run, texts: Ids, wanted: NDArray[np.float32]) -> list[Check]:
    """Compare the original in half precision, ``run``, with its answers in float32, ``wanted``.

    The last check is of the largest number of its layers.
    """
    with largest_activation() as largest:
        found = close(name, FP16, run, texts, wanted)
    return [*found, Check(name, "fp16: largest activation", largest(), _LARGEST_LIMIT)]
