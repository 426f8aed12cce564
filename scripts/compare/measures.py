"""Measures what another precision changes: vectors, neighbours and scores. Vectors have length one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_ROWS_AT_ONCE = 256
# Neighbours count as equal within this difference of similarity.
_TIE = 1e-6

Array = NDArray[np.float32]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Near:
    """The nearest texts of each query, nearest first: their indices (``places``) and ``similarities``, [queries, k]."""

    places: Places
    similarities: Array


def nearest(queries: Array, texts: Array, count: int, *, own: bool) -> Near:
    """The ``count`` nearest of ``texts`` [n, width]. With ``own``, the queries are the texts, and none is its own."""
    places, similarities = [], []
    for begin in range(0, len(queries), _ROWS_AT_ONCE):
        rows = queries[begin : begin + _ROWS_AT_ONCE] @ texts.T
        if own:
            at = np.arange(len(rows))
            rows[at, begin + at] = -np.inf
        order = np.argsort(-rows, axis=1, kind="stable")[:, :count]
        places.append(order)
        similarities.append(np.take_along_axis(rows, order, axis=1))
    return Near(np.concatenate(places), np.concatenate(similarities))


def between(queries: Array, texts: Array, places: Places) -> Array:
    """The similarity of each query to its texts at ``places`` [queries, k]."""
    rows: Array = np.stack([texts[near] @ query for query, near in zip(queries, places, strict=True)])
    return rows


@dataclass(frozen=True)
class Vectors:
    """``turned`` is 1 - cosine of each text's two vectors, ``moved`` [queries, k] the change of similarities.

    ``lost`` is how much less similar each query's new first neighbour is than the nearest. ``all_kept`` is the share of
    neighbours that stay or are replaced by equally near ones. Both use the exact vectors.
    """

    turned: Array
    moved: Array
    lost: Array
    all_kept: float


def vectors(exact: tuple[Array, Array], other: tuple[Array, Array], near: Near, *, own: bool) -> Vectors:
    """Compare vectors of (queries, texts); ``near`` are the neighbours by the exact ones."""
    count = near.places.shape[1]
    chosen = nearest(*other, count, own=own)
    # The exact similarity of the other precision's neighbours.
    really = between(*exact, chosen.places)
    turned = np.maximum(0, 1 - np.einsum("td,td->t", exact[1], other[1], dtype=np.float64))
    return Vectors(
        turned.astype(np.float32),
        np.abs(between(*other, near.places) - near.similarities),
        near.similarities[:, 0] - really[:, 0],
        float(np.mean(really >= near.similarities[:, -1:] - _TIE)),
    )


@dataclass(frozen=True)
class Scores:
    """``moved`` [queries, documents] is the change of scores, ``order_kept`` the share of pairs that keep their order.

    ``lost`` is how much less each query's new first result scores than the best, by the exact scores.
    """

    moved: Array
    lost: Array
    order_kept: float


def scores(exact: Array, other: Array) -> Scores:
    """Compare scores of each query's documents, [queries, documents]."""
    one, two = np.triu_indices(exact.shape[1], 1)
    before, after = exact[:, one] - exact[:, two], other[:, one] - other[:, two]
    same = (before > 0) == (after > 0)
    first = np.take_along_axis(exact, other.argmax(axis=1)[:, None], axis=1)[:, 0]
    return Scores(
        np.abs(other - exact),
        exact.max(axis=1) - first,
        float(np.mean(same | (np.abs(before) <= _TIE))),
    )


def kept(lost: Array) -> float:
    """The share of queries whose first result is the best or equally good."""
    return float(np.mean(lost <= _TIE))


def given_up(lost: Array) -> float:
    """The mean loss of the queries whose first result is worse."""
    others = lost[lost > _TIE]
    return float(others.mean()) if len(others) else 0.0


def worst(moved: Array, names: Sequence[str]) -> str:
    """The name of the row with the largest number."""
    return names[int(moved.reshape(len(names), -1).max(axis=1).argmax())]
