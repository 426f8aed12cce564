"""Comparisons, their table, and the first way of an export that passes them."""

import errno
import math
from collections.abc import Mapping

import pytest

from scripts.export_models.checkpoints import DiskFullError, SourceError
from scripts.export_models.parity import Check, Exported, first_that_passes, table

GOOD, BAD = Check("m", "error", 0.1, 0.2), Check("m", "error", 0.3, 0.2)


def test_a_difference_over_its_limit_fails() -> None:
    assert not Check("m", "w", 2e-5, 1e-5).passed


def test_a_difference_that_is_not_a_number_fails() -> None:
    assert not Check("m", "w", math.nan, 1e-5).passed


def test_the_table_says_which_check_failed() -> None:
    lines = table([Check("good", "w", 0, 1e-5), Check("bad", "w", 1, 1e-5)]).splitlines()
    assert lines[1].endswith("ok")
    assert lines[2].endswith("FAILED")


def _exported(ways: Mapping[str, list[Check] | Exception], *, strict: bool = False) -> Exported:
    """Each way gives checks or raises."""

    def export(way: str) -> list[Check]:
        if isinstance(found := ways[way], Exception):
            raise found
        return found

    return first_that_passes([*ways], export, strict=strict)


def test_the_first_way_that_passes_is_taken_and_no_later_one_is_tried() -> None:
    assert _exported({"int8": [GOOD], "fp32": AssertionError()}) == Exported("int8", [GOOD])


def test_a_way_that_fails_a_check_is_skipped_with_the_difference() -> None:
    exported = _exported({"int8": [GOOD, BAD], "fp32": [GOOD]})
    assert exported == Exported("fp32", [GOOD], ["int8: error is 0.3, over 0.2"])


@pytest.mark.parametrize(
    ("error", "reason"),
    [(ValueError("no such layer\nat line 1"), "no such layer"), (MemoryError(), "MemoryError")],
)
def test_a_way_that_raises_is_skipped_with_the_first_line_of_the_error(error: Exception, reason: str) -> None:
    assert _exported({"rewritten": error, "original": []}) == Exported("original", [], [f"rewritten: {reason}"])


def test_after_a_full_disk_no_other_way_is_tried() -> None:
    with pytest.raises(DiskFullError, match="the disk of /models/x is full"):
        _exported({"int8": OSError(errno.ENOSPC, "full", "/models/x"), "fp32": [GOOD]})


def test_if_no_way_passes_the_error_has_all_reasons() -> None:
    with pytest.raises(SourceError, match=r"no way to export it passes: int8: error is 0\.3.* \| fp32: gone"):
        _exported({"int8": [BAD], "fp32": ValueError("gone")})


def test_a_strict_export_tries_only_the_first_way() -> None:
    with pytest.raises(SourceError, match="int8"):
        _exported({"int8": [BAD], "fp32": [GOOD]}, strict=True)
