"""How a part ends is told."""

import io
import json
from typing import Any

import pytest

from scripts.gpu_check.found import SkippedError
from scripts.gpu_check.job import Tell
from scripts.gpu_check.worker import work


def _ended(error: Exception | None) -> dict[str, Any]:
    stream = io.StringIO()

    def part() -> None:
        if error:
            raise error

    work(part, Tell(stream, "cpu"))
    ended: dict[str, Any] = json.loads(stream.getvalue())
    return ended


def test_a_part_that_ends_is_done() -> None:
    assert _ended(None) == {"kind": "done"}


def test_a_part_that_cannot_run_is_skipped_with_its_reason() -> None:
    assert _ended(SkippedError("no NVIDIA GPU")) == {"kind": "skipped", "reason": "no NVIDIA GPU"}


def test_a_library_that_is_missed_only_in_computing_is_a_reason_too() -> None:
    reason = "Library libcublas.so.12 is not found or cannot be loaded"
    assert _ended(RuntimeError(reason)) == {"kind": "skipped", "reason": reason}


@pytest.mark.parametrize(("text", "told"), [("wrong shape\nin MatMul", "wrong shape"), ("", "")])
def test_any_other_error_is_told_in_a_line(text: str, told: str) -> None:
    assert _ended(ValueError(text)) == {"kind": "failed", "reason": f"ValueError: {told}"}
