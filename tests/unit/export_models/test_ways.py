from collections.abc import Callable

import pytest

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.parity import Check
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.ways import Way, first_that_passes

GOOD, BAD = Check("m", "error", 0.1, 0.2), Check("m", "error", 0.3, 0.2)


def _way(name: str, *checks: Check) -> Way:
    return Way(name, lambda: list(checks))


def _raising(name: str, error: Exception) -> Way:
    def export() -> list[Check]:
        raise error

    return Way(name, export)


class Notes(Progress):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        self.lines.append(line)


def test_the_first_way_that_passes_is_taken() -> None:
    exported = first_that_passes([_way("int8", GOOD), _way("fp32", GOOD)], SILENT)
    assert (exported.way, exported.checks, exported.skipped) == ("int8", [GOOD], [])


def test_a_way_that_fails_a_check_is_skipped_with_what_was_too_large() -> None:
    exported = first_that_passes([_way("int8", GOOD, BAD), _way("fp32", GOOD)], SILENT)
    assert (exported.way, exported.skipped) == ("fp32", ["int8: error is 0.3, over 0.2"])


@pytest.mark.parametrize(
    ("error", "reason"),
    [(ValueError("no such layer\nat line 1"), "no such layer"), (MemoryError(), "MemoryError")],
)
def test_a_way_that_raises_is_skipped_with_the_first_line_of_why(error: Exception, reason: str) -> None:
    exported = first_that_passes([_raising("rewritten", error), _way("original")], SILENT)
    assert (exported.way, exported.skipped) == ("original", [f"rewritten: {reason}"])


def test_what_is_skipped_is_told_as_it_happens() -> None:
    notes = Notes()
    first_that_passes([_way("int8", BAD), _way("fp32", GOOD)], notes)
    assert notes.lines == ["not in int8: error is 0.3, over 0.2"]


def test_a_model_that_no_way_can_export_is_an_error_with_all_reasons() -> None:
    with pytest.raises(SourceError, match=r"no way to export it passes: int8: error is 0\.3.* \| fp32: gone"):
        first_that_passes([_way("int8", BAD), _raising("fp32", ValueError("gone"))], SILENT)


def test_a_way_after_one_that_passes_is_not_begun() -> None:
    begun: list[str] = []

    def noting(name: str) -> Callable[[], list[Check]]:
        def export() -> list[Check]:
            begun.append(name)
            return [GOOD]

        return export

    first_that_passes([Way("int8", noting("int8")), Way("fp32", noting("fp32"))], SILENT)
    assert begun == ["int8"]


def test_a_strict_export_has_the_first_way_alone() -> None:
    with pytest.raises(SourceError, match="int8"):
        first_that_passes([_way("int8", BAD), _way("fp32", GOOD)], SILENT, strict=True)
