"""The table that ends every export: what was compared, how far apart it is, how far it may be."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One comparison of an export with its original; ``limit`` is the largest ``difference`` that passes."""

    model: str
    what: str
    difference: float
    limit: float

    @property
    def passed(self) -> bool:
        # A difference that is not a number must not pass.
        return bool(self.difference <= self.limit)


def table(checks: list[Check]) -> str:
    """The checks as aligned text, one a line."""
    rows = [("model", "compared", "difference", "limit", "")]
    for check in checks:
        verdict = "ok" if check.passed else "FAILED"
        rows.append((check.model, check.what, f"{check.difference:.2e}", f"{check.limit:.0e}", verdict))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths[:4]))
    return "\n".join(lines)
