"""The table that ends every export: what was compared, how far apart it is, how far it may be."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One comparison of an export with its original; ``limit`` is the largest ``difference`` that passes.

    A ``difference`` of None was not measured, which is neither a pass nor a failure.
    """

    model: str
    what: str
    difference: float | None
    limit: float

    @property
    def passed(self) -> bool:
        # A difference that is not a number must not pass.
        return self.difference is not None and bool(self.difference <= self.limit)

    @property
    def failed(self) -> bool:
        return self.difference is not None and not self.passed


def not_checked(model: str, what: str) -> Check:
    """The entry of what nobody compared."""
    return Check(model, what, None, 0.0)


def table(checks: list[Check]) -> str:
    """The checks as aligned text, one a line."""
    rows = [("model", "compared", "difference", "limit", ""), *(_row(check) for check in checks)]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths[:4]))
    return "\n".join(lines)


def _row(check: Check) -> tuple[str, str, str, str, str]:
    if check.difference is None:
        return (check.model, check.what, "-", "-", "not checked")
    verdict = "ok" if check.passed else "FAILED"
    return (check.model, check.what, f"{check.difference:.2e}", f"{check.limit:.2g}", verdict)
