"""The ways in which a model can be exported, the best first. If one fails its checks, the next is tried."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from scripts.export_models.checkpoints import DiskFullError, SourceError, full_disk_in_words
from scripts.export_models.parity import Check


@dataclass(frozen=True)
class Way:
    """A way to export a model: ``export`` writes it and compares it with its original; ``why`` it is tried at all."""

    name: str
    export: Callable[[], list[Check]]
    why: str = ""


@dataclass(frozen=True)
class Exported:
    """The ``way`` in which a model was exported, its checks, and for each way that was skipped before it the reason."""

    way: str
    checks: list[Check]
    skipped: list[str] = field(default_factory=list)
    why: str = ""


def first_that_passes(ways: Sequence[Way], *, strict: bool = False) -> Exported:
    """Export in the first of the ``ways`` whose checks pass; if ``strict``, in the first one or not at all.

    Raises ``SourceError`` if none passes, ``DiskFullError`` if the disk is full: the next way takes no less.
    """
    skipped: list[str] = []
    for way in ways[:1] if strict else ways:
        try:
            with full_disk_in_words():
                checks = way.export()
        except DiskFullError:
            raise
        except Exception as error:
            # Libraries that write and run graphs raise anything.
            traceback.print_exc()
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
        else:
            failed = [check for check in checks if check.failed]
            if not failed:
                return Exported(way.name, checks, skipped, way.why)
            reason = "; ".join(f"{check.what} is {check.difference:.2g}, over {check.limit:.2g}" for check in failed)
        skipped.append(f"{way.name}: {reason}")
    raise SourceError(f"no way to export it passes: {' | '.join(skipped)}")
