"""Comparisons of an export with its original, their table, and the first way of an export that passes them."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from scripts.export_models.checkpoints import DiskFullError, SourceError, full_disk_in_words

Way = TypeVar("Way", bound=str)


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


@dataclass(frozen=True)
class Exported:
    """The ``way`` in which a model was exported, its checks, and for each way that was skipped before it the reason.

    ``why`` is what was measured to choose it.
    """

    way: str
    checks: list[Check]
    skipped: list[str] = field(default_factory=list)
    why: str = ""


def first_that_passes(
    ways: Sequence[Way], export: Callable[[Way], Sequence[Check]], *, strict: bool = False
) -> Exported:
    """``export`` in the first of the ``ways`` whose checks pass; if ``strict``, in the first one or not at all.

    Raises ``SourceError`` if none passes, ``DiskFullError`` if the disk is full: the next way takes no less.
    """
    skipped: list[str] = []
    for way in ways[:1] if strict else ways:
        try:
            with full_disk_in_words():
                checks = [*export(way)]
        except DiskFullError:
            raise
        except Exception as error:
            # Libraries that write and run graphs raise anything.
            traceback.print_exc()
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
        else:
            failed = [check for check in checks if check.failed]
            if not failed:
                return Exported(way, checks, skipped)
            reason = "; ".join(f"{check.what} is {check.difference:.2g}, over {check.limit:.2g}" for check in failed)
        skipped.append(f"{way}: {reason}")
    raise SourceError(f"no way to export it passes: {' | '.join(skipped)}")
