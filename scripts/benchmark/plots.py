"""Plots written to files. matplotlib is imported where one is drawn: most of a benchmark does without."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def plot(path: Path, height: float = 5) -> Iterator[Any]:
    """Axes nine inches wide and ``height`` high, written to ``path`` as the block ends."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, height))
    try:
        yield axes
        figure.tight_layout()
        figure.savefig(path, dpi=120)
    finally:
        pyplot.close(figure)
