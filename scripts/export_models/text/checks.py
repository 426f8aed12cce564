"""What an exported text model is held to: its original's answers, and the same answers in any batch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scripts.export_models.graphs.parity import Check
from scripts.export_models.graphs.sessions import Infer, here

_LENGTHS = (3, 4, 7, 16, 60, 129, 500, 2048, 8192)
_EXACT_LIMIT = 1e-5
_COSINE_LIMIT = 1e-3
_SCORE_LIMIT = 2e-2
_ORDER_LIMIT = 2e-2

Ids = list[NDArray[np.int32]]
Run = Callable[[Ids], NDArray[np.float32]]


def session(path: Path, threads: int = 2) -> Run:
    """A packed graph as a function from the token ids of texts to one row a text."""
    return packed(here(path, threads))


def packed(infer: Infer) -> Run:
    """A session of a packed graph as such a function."""

    def run(texts: Ids) -> NDArray[np.float32]:
        lengths = np.array([len(text) for text in texts], np.int32)
        return infer({"input_ids": np.concatenate(texts), "lengths": lengths})

    return run


def of_every_length(tokenizer: Any, longest: int, *, pair: bool) -> Ids:
    """Random token ids of every length in turn, framed by the tokenizer's own special tokens."""
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


def batch_invariant(name: str, run: Run, texts: Ids) -> Check:
    """The largest change of a row between a batch of its own and one with all the others."""
    together = run(texts)
    change = max(float(np.abs(run([text])[0] - row).max()) for text, row in zip(texts, together, strict=True))
    return Check(name, "text alone and in a batch", change, _EXACT_LIMIT)


def exact(name: str, run: Run, texts: Ids, wanted: NDArray[np.float32]) -> Check:
    """The largest difference of any number from the original's, ``wanted``."""
    difference = float(np.abs(run(texts) - wanted).max())
    return Check(name, f"fp32: {len(texts)} texts to {max(map(len, texts))} tokens", difference, _EXACT_LIMIT)


def close(name: str, run: Run, texts: Ids, wanted: NDArray[np.float32]) -> list[Check]:
    """How far int8 is from the original's ``wanted`` on real texts, and how often it puts two in another order."""
    got = run(texts)
    if got.ndim == 1:
        loss = Check(name, "int8: score", float(np.abs(got - wanted).max()), _SCORE_LIMIT)
        return [loss, Check(name, "int8: pairs in another order", disorder(wanted, got), _ORDER_LIMIT)]
    loss = Check(name, "int8: 1 - cosine", float((1 - (got * wanted).sum(axis=1)).max()), _COSINE_LIMIT)
    changed = [disorder(*(np.delete(rows @ rows[at], at) for rows in (wanted, got))) for at in range(len(texts))]
    return [loss, Check(name, "int8: neighbours in another order", float(np.mean(changed)), _ORDER_LIMIT)]


def disorder(wanted: NDArray[np.float32], got: NDArray[np.float32]) -> float:
    """The share of pairs that two lists of scores [n] put in different orders (Kendall's distance)."""
    one, other = np.triu_indices(len(wanted), 1)
    return float(np.mean((wanted[one] < wanted[other]) != (got[one] < got[other])))
