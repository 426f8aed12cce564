"""Runs both precisions of every text model on the same texts."""

import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from frontend.catalogue.models import EMBEDDINGS, RERANK
from frontend.text.tokens import Ids
from scripts.compare import measures
from scripts.compare.report import Compared
from scripts.compare.sides import EXACT, OTHER, Models, ask
from scripts.export_models.checkpoints import PROMISES
from scripts.export_models.progress import Progress
from scripts.progress_bar import ProgressBar

# The most nearest texts per query, and the most queries for a reranker.
_NEIGHBOURS, _QUERIES = 10, 50


def names_of(operation: str) -> list[str]:
    """The Triton names of an operation's text models."""
    return [name for name, model in PROMISES.items() if model.operation == operation]


class _ModelProgress(Progress):
    """Shows the progress of one model in one precision, after ``before`` others."""

    def __init__(self, bar: ProgressBar, name: str, before: int) -> None:
        self._bar, self._name, self._before = bar, name, before

    def step(self, name: str, done: int, total: int) -> None:
        self._bar.show(self._before, f"{self._name}: {name} {100 * done // total}%")


class Comparison:
    """Compares exported ``models`` on texts and queries; without queries, each text is a query for all others."""

    def __init__(self, models: Models, texts: list[str], queries: list[str], threads: int) -> None:
        self._models, self._texts, self._threads = models, texts, threads
        self._own = not queries
        self._queries = queries or texts
        self._bar, self._done = ProgressBar(sys.stderr, "comparing", 2 * len(models.names)), 0

    def run(self) -> list[Compared]:
        """Embedders run first, because rerankers rank the neighbours that the first one finds."""
        embedders = [self._embedder(name) for name in names_of(EMBEDDINGS)]
        _, near = embedders[0]
        asked = np.linspace(0, len(self._queries) - 1, min(_QUERIES, len(self._queries))).round().astype(int)
        queries = [self._queries[at] for at in asked]
        rerankers = [self._reranker(name, queries, near.places[asked]) for name in names_of(RERANK)]
        self._bar.close()
        return [*(compared for compared, _ in embedders), *rerankers]

    def _embedder(self, name: str) -> tuple[Compared, measures.Near]:
        tokenizer, count = self._models.tokenizer(name), len(self._texts)
        ids = tokenizer.texts(self._texts if self._own else [*self._texts, *self._queries])
        answers, speeds = self._both(name, ids)
        sides = [(rows if self._own else rows[count:], rows[:count]) for rows in answers]
        near = measures.nearest(*sides[0], min(_NEIGHBOURS, count - 1 if self._own else count), own=self._own)
        change = measures.vectors(sides[0], sides[1], near, own=self._own)
        return Compared(name, change, self._texts, speeds), near

    def _reranker(self, name: str, queries: Sequence[str], documents: NDArray[np.int64]) -> Compared:
        tokenizer = self._models.tokenizer(name)
        pairs: list[Ids] = []
        for query, places in zip(queries, documents, strict=True):
            pairs += tokenizer.pairs(query, [self._texts[place] for place in places])
        answers, speeds = self._both(name, pairs)
        change = measures.scores(*(rows.reshape(documents.shape) for rows in answers))
        return Compared(name, change, queries, speeds)

    def _both(self, name: str, ids: list[Ids]) -> tuple[list[measures.Array], tuple[float, float]]:
        """A model's rows and speeds in both precisions."""
        found = []
        for precision in (EXACT, OTHER):
            title = f"{name} in {precision}"
            progress = _ModelProgress(self._bar, title, self._done)
            found.append(ask(self._models.of(name, precision), ids, self._threads, progress))
            self._done += 1
        (exact, speed), (other, other_speed) = found
        return [exact, other], (speed, other_speed)
