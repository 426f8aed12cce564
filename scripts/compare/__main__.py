"""What int8 changes on your own texts, before you choose.

    quartet compare --texts texts.txt
    quartet compare --texts texts.jsonl --queries questions.txt --models folder --folder /models

Both precisions of the embedder and the reranker are exported from the checkpoints, which takes minutes the first time
and seconds later, and asked one after the other, each as the product asks it.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from frontend.catalogue.models import EMBEDDINGS, RERANK
from frontend.text.tokens import Ids
from scripts.compare import measures, report, texts
from scripts.compare.report import Compared
from scripts.compare.sides import EXACT, OTHER, ROOT, Answers, ExportError, Models, NoNumbersError, ask
from scripts.compare.texts import TextsError
from scripts.export_models.graphs.progress import Progress
from scripts.export_models.progress_line import ProgressLine
from scripts.export_models.text.promised import PROMISES
from scripts.machine import processors

_MOST = 2000
# A reranker is given each query's nearest texts, as it is in use; so many queries tell enough.
_NEIGHBOURS, _QUERIES = 10, 50
_LEAST = 3


class _Shown(Progress):
    """Tells of one model in one precision."""

    def __init__(self, line: ProgressLine, name: str) -> None:
        self._line, self._name = line, name

    def step(self, name: str, done: int, total: int) -> None:
        self._line.heard(("step", self._name, name, done, total))


class Comparison:
    """Of ``models`` on texts and queries; where no queries are given, each text is one for all others."""

    def __init__(self, models: Models, its_texts: list[str], queries: list[str], threads: int) -> None:
        self._models, self._texts, self._threads = models, its_texts, threads
        self._own = not queries
        self.queries = queries or its_texts
        self._line = ProgressLine(sys.stderr, 2 * len(models.names))

    def run(self) -> list[Compared]:
        """Embedders first: their neighbours are what rerankers are asked about."""
        found: list[Compared] = []
        near: measures.Near | None = None
        for name in _of(EMBEDDINGS):
            compared, near = self._embedder(name)
            found.append(compared)
        assert near is not None
        asked = np.linspace(0, len(self.queries) - 1, min(_QUERIES, len(self.queries))).round().astype(int)
        self.queries = [self.queries[at] for at in asked]
        found += [self._reranker(name, near.places[asked]) for name in _of(RERANK)]
        self._line.close()
        return found

    def _embedder(self, name: str) -> tuple[Compared, measures.Near]:
        tokenizer, count = self._models.tokenizer(name), len(self._texts)
        exact, other = self._both(name, tokenizer.texts(self._texts if self._own else [*self._texts, *self.queries]))
        sides = [(rows if self._own else rows[count:], rows[:count]) for rows in (exact.rows, other.rows)]
        near = measures.nearest(*sides[0], min(_NEIGHBOURS, count - self._own), own=self._own)
        change = measures.vectors(sides[0], sides[1], near, own=self._own)
        return Compared(name, change, (exact.tokens_a_second, other.tokens_a_second)), near

    def _reranker(self, name: str, documents: NDArray[np.int64]) -> Compared:
        tokenizer = self._models.tokenizer(name)
        pairs: list[Ids] = []
        for query, its in zip(self.queries, documents, strict=True):
            pairs += tokenizer.pairs(query, [self._texts[place] for place in its])
        exact, other = self._both(name, pairs)
        change = measures.scores(*(answers.rows.reshape(documents.shape) for answers in (exact, other)))
        return Compared(name, change, (exact.tokens_a_second, other.tokens_a_second))

    def _both(self, name: str, ids: list[Ids]) -> tuple[Answers, Answers]:
        exact, other = (self._ask(name, precision, ids) for precision in (EXACT, OTHER))
        return exact, other

    def _ask(self, name: str, precision: str, ids: list[Ids]) -> Answers:
        title = f"{name} in {precision}"
        answers = ask(self._models.of(name, precision), ids, self._threads, _Shown(self._line, title))
        self._line.heard(("finished", title))
        return answers


def _of(operation: str) -> list[str]:
    return [name for name, model in PROMISES.items() if model.operation == operation]


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="quartet compare", description="What int8 changes on your own texts.")
    parser.add_argument("--texts", type=Path, required=True, help="UTF-8, a text a line; or .jsonl, each with a text")
    parser.add_argument("--queries", type=Path, help="the same form; by default each text is a query for the others")
    parser.add_argument("--most", type=int, default=_MOST, help=f"texts that are compared, evenly chosen ({_MOST})")
    parser.add_argument("--models", choices=("demo", "hub", "folder"), default="demo", help="as of make run")
    parser.add_argument("--folder", type=Path, help="for --models folder: checkpoints laid out as on the hub")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "compare", help="where both exports are kept")
    parser.add_argument("--threads", type=int, default=processors())
    return parser.parse_args(arguments)


def _read(path: Path | None, most: int) -> list[str]:
    if path is None:
        return []
    found = texts.read(path)
    if len(found) < _LEAST:
        raise TextsError(f"{path} has {len(found)} different texts, and a comparison needs {_LEAST}")
    chosen = texts.spread(found, most)
    print(f"{path}: {len(found)} different texts, {len(chosen)} are compared", file=sys.stderr)
    return chosen


def _compare(given: argparse.Namespace, show: Callable[[str], None]) -> None:
    its_texts, queries = _read(given.texts, max(_LEAST, given.most)), _read(given.queries, given.most)
    folder = str(given.folder.absolute()) if given.folder else ""
    models = Models((*_of(EMBEDDINGS), *_of(RERANK)), given.models, folder, given.work.absolute())
    for precision in (EXACT, OTHER):
        models.export(precision)
    comparison = Comparison(models, its_texts, queries, given.threads)
    compared = comparison.run()
    show(report.table(compared, its_texts, comparison.queries))
    show(f"\n{report.verdict(compared)}")


def main(arguments: list[str]) -> int:
    try:
        _compare(_parse(arguments), print)
    except ExportError as error:
        return error.status
    except (TextsError, NoNumbersError) as error:
        print(f"quartet compare: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
