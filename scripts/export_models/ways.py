"""The ways in which a model can be exported, the best first: where one fails its checks, the next is tried."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.parity import Check
from scripts.export_models.progress import Progress


@dataclass(frozen=True)
class Way:
    """A way to export a model: ``export`` writes it and says how far it is from its original."""

    name: str
    export: Callable[[], list[Check]]


@dataclass(frozen=True)
class Exported:
    """A model as it was exported: the ``way``, what was checked, and of each way ``skipped`` before, why."""

    way: str
    checks: list[Check]
    skipped: list[str] = field(default_factory=list)


def first_that_passes(ways: Sequence[Way], progress: Progress, *, strict: bool = False) -> Exported:
    """Export by the first of the ``ways`` whose checks pass; where it is ``strict``, by the first or not at all.

    Raises ``SourceError`` where none passes.
    """
    skipped: list[str] = []
    for way in ways[:1] if strict else ways:
        try:
            checks = way.export()
        except Exception as error:
            # The boundary to libraries that write graphs and run them: the log of the export has the rest.
            traceback.print_exc()
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
        else:
            lost = [check for check in checks if check.failed]
            if not lost:
                return Exported(way.name, checks, skipped)
            reason = "; ".join(f"{check.what} is {check.difference:.2g}, over {check.limit:.2g}" for check in lost)
        skipped.append(f"{way.name}: {reason}")
        progress.note(f"not in {skipped[-1]}")
    raise SourceError(f"no way to export it passes: {' | '.join(skipped)}")
