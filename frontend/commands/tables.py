"""Text tables."""

from collections.abc import Iterable, Sequence


def columns(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """One line per row; every column is as wide as its widest cell."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
