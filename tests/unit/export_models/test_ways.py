import errno
from collections.abc import Callable

import pytest

from scripts.export_models.checkpoints import DiskFullError, SourceError
from scripts.export_models.parity import Check
from scripts.export_models.ways import Exported, Way, first_that_passes

GOOD, BAD = Check("m", "error", 0.1, 0.2), Check("m", "error", 0.3, 0.2)


def _way(name: str, *checks: Check) -> Way:
    return Way(name, lambda: list(checks))


def _raising(error: Exception) -> Callable[[], list[Check]]:
    def export() -> list[Check]:
        raise error

    return export


def test_the_first_way_that_passes_is_taken_and_no_later_one_is_tried() -> None:
    ways = [_way("int8", GOOD), Way("fp32", _raising(AssertionError()))]
    assert first_that_passes(ways) == Exported("int8", [GOOD])


def test_a_way_that_fails_a_check_is_skipped_with_the_difference() -> None:
    exported = first_that_passes([_way("int8", GOOD, BAD), _way("fp32", GOOD)])
    assert exported == Exported("fp32", [GOOD], ["int8: error is 0.3, over 0.2"])


@pytest.mark.parametrize(
    ("error", "reason"),
    [(ValueError("no such layer\nat line 1"), "no such layer"), (MemoryError(), "MemoryError")],
)
def test_a_way_that_raises_is_skipped_with_the_first_line_of_the_error(error: Exception, reason: str) -> None:
    exported = first_that_passes([Way("rewritten", _raising(error)), _way("original")])
    assert exported == Exported("original", [], [f"rewritten: {reason}"])


def test_after_a_full_disk_no_other_way_is_tried() -> None:
    ways = [Way("int8", _raising(OSError(errno.ENOSPC, "full", "/models/x"))), Way("fp32", _raising(AssertionError()))]
    with pytest.raises(DiskFullError, match="the disk of /models/x is full"):
        first_that_passes(ways)


def test_if_no_way_passes_the_error_has_all_reasons() -> None:
    with pytest.raises(SourceError, match=r"no way to export it passes: int8: error is 0\.3.* \| fp32: gone"):
        first_that_passes([_way("int8", BAD), Way("fp32", _raising(ValueError("gone")))])


def test_a_strict_export_tries_only_the_first_way() -> None:
    with pytest.raises(SourceError, match="int8"):
        first_that_passes([_way("int8", BAD), _way("fp32", GOOD)], strict=True)
