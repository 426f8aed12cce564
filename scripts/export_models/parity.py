"""Comparisons of an export with its original, and the table that ends every export."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One comparison of an export with its original; ``limit`` is the largest ``difference`` that passes.

    A ``difference`` of None was not measured: such a check neither passes nor fails.
    """

    model: str
    what: str
    difference: float | None
    limit: float

    @property
    def passed(self) -> bool:
        # NaN must not pass.
        return self.difference is not None and bool(self.difference <= self.limit)

    @property
    def failed(self) -> bool:
        return self.difference is not None and not self.passed

    @property
    def row(self) -> tuple[str, ...]:
        if self.difference is None:
            return (self.model, self.what, "-", "-", "not checked")
        return (self.model, self.what, f"{self.difference:.2e}", f"{self.limit:.2g}", "ok" if self.passed else "FAILED")


def not_checked(model: str, what: str) -> Check:
    """Return a check that was not made."""
    return Check(model, what, None, 0.0)


def table(checks: Sequence[Check]) -> str:
    """The checks as aligned text, one per line."""
    rows = [("model", "compared", "difference", "limit", ""), *(check.row for check in checks)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)
