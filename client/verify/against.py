"""Compares the answers of two servers on your own texts, such as those of one in int8 with those of one in fp32.

The second server counts as right: its vectors say which texts are near, and its scores which results are better.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from client.api import CommandError
from client.verify.questions import Questions, RefusedError

# Nearest texts of each query, and queries for the reranker.
_NEIGHBOURS, _QUERIES = 10, 50
_LEAST, _AT_ONCE = 3, 32
# Neighbours and results within this difference are equally good.
_TIE = 1e-6
_WORDS_SHOWN = 48

Array = NDArray[np.float32]
Places = NDArray[np.int64]
Rows = list[tuple[str, str]]


def read(path: Path) -> list[str]:
    """The distinct texts of a UTF-8 file: its lines, or the ``text`` of each object of a ``.jsonl`` file."""
    try:
        lines = [line for line in path.read_text(encoding="utf-8-sig").split("\n") if line.strip()]
        found = [json.loads(line)["text"] for line in lines] if path.suffix == ".jsonl" else lines
        texts = list(dict.fromkeys(text.strip() for text in found))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        wanted = "lines that are objects with a text" if path.suffix == ".jsonl" else "lines in UTF-8"
        raise CommandError(f"{path} must have {wanted}") from None
    if len(texts) < _LEAST:
        raise CommandError(f"{path} has {len(texts)} different texts, and a comparison needs {_LEAST}")
    return texts


async def compare(product: Questions, right: Questions, texts: Sequence[str]) -> Rows:
    """What differs; each text is a query for all others."""
    got, wanted = await asyncio.gather(*(_embedded(each, texts) for each in (product, right)))
    if got.shape != wanted.shape:
        raise CommandError(f"the vectors have {got.shape[1]} and {wanted.shape[1]} numbers: these are other models")
    places = nearest(wanted, min(_NEIGHBOURS, len(texts) - 1))
    asked = np.linspace(0, len(texts) - 1, min(_QUERIES, len(texts))).round().astype(int).tolist()
    try:
        ours, theirs = await asyncio.gather(*(_scored(each, texts, asked, places) for each in (product, right)))
    except RefusedError as error:
        if not error.missing:
            raise
        return [*vectors(got, wanted, places, texts)]
    return [*vectors(got, wanted, places, texts), *ranks(ours, theirs, [texts[at] for at in asked])]


async def _embedded(server: Questions, texts: Sequence[str]) -> Array:
    parts = [await server.embed([*texts[at : at + _AT_ONCE]]) for at in range(0, len(texts), _AT_ONCE)]
    return np.concatenate([rows for rows, _ in parts])


async def _scored(server: Questions, texts: Sequence[str], asked: Sequence[int], places: Places) -> Array:
    """The scores of each query's nearest texts, [queries, k]."""
    rows = [(await server.rerank(texts[at], [texts[place] for place in places[at]]))[0] for at in asked]
    return np.array(rows, np.float32)


def nearest(rows: Array, count: int) -> Places:
    """The nearest others of each of the vectors [n, width], nearest first, [n, count]."""
    similar = rows @ rows.T
    np.fill_diagonal(similar, -np.inf)
    return np.argsort(-similar, axis=1, kind="stable")[:, :count]


def vectors(got: Array, wanted: Array, places: Places, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """How far vectors are turned, and which neighbours stay; both sides have length one."""
    turned = np.maximum(0, 1 - np.einsum("td,td->t", got, wanted, dtype=np.float64))
    middle, most, largest = np.quantile(turned, (0.5, 0.99, 1))
    yield "1 - cosine: median, 99th percentile, largest", f"{middle:.1e}  {most:.1e}  {largest:.1e}"
    yield "the text that changes most", _shown(texts[int(turned.argmax())])
    # By the right vectors: how near the texts are that were nearest, and how near those are that are now.
    best, really = (_similar(wanted, each) for each in (places, nearest(got, places.shape[1])))
    yield "nearest neighbour kept; what others lose", _kept(best[:, 0] - really[:, 0])
    yield f"{places.shape[1]} nearest neighbours kept", f"{np.mean(really >= best[:, -1:] - _TIE):.1%}"


def ranks(got: Array, wanted: Array, queries: Sequence[str]) -> Iterator[tuple[str, str]]:
    """How far the scores [queries, k] are, and which results stay first."""
    moved = np.abs(got - wanted)
    yield "change of a score: mean, largest", f"{moved.mean():.4f}  {moved.max():.4f}"
    yield "the query whose scores change most", _shown(queries[int(moved.max(axis=1).argmax())])
    first = np.take_along_axis(wanted, got.argmax(axis=1)[:, None], axis=1)[:, 0]
    yield "first result kept; what others lose", _kept(wanted.max(axis=1) - first)
    one, two = np.triu_indices(wanted.shape[1], 1)
    before, after = wanted[:, one] - wanted[:, two], got[:, one] - got[:, two]
    same = ((before > 0) == (after > 0)) | (np.abs(before) <= _TIE)
    yield f"pairs of {wanted.shape[1]} results in the same order", f"{same.mean():.1%}"


def _similar(rows: Array, places: Places) -> Array:
    """The similarity of each text to those at its ``places``, [n, k]."""
    return np.stack([rows[near] @ row for row, near in zip(rows, places, strict=True)])


def _kept(lost: Array) -> str:
    """The share of first places that stay or go to an equally good one, and the mean loss of the others."""
    others = lost[lost > _TIE]
    return f"{1 - len(others) / len(lost):.1%}  {others.mean() if len(others) else 0.0:.4f}"


def _shown(text: str) -> str:
    return text if len(text) <= _WORDS_SHOWN else f"{text[:_WORDS_SHOWN]}..."
