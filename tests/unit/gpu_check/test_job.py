"""What a part tells of a measurement."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from scripts.gpu_check.job import Row, Tell, measured

_ROW = Row("side", "vectors", 2, "16 tokens", 32, 1e9)


def _told(work: Callable[[], object]) -> dict[str, Any]:
    stream = io.StringIO()
    Tell(stream, "cpu").measure(_ROW, lambda: work, 1)
    told: dict[str, Any] = json.loads(stream.getvalue())
    return told


def test_a_row_is_told_with_its_seconds() -> None:
    told = _told(lambda: None)
    assert (told["kind"], told["side"], told["memory"]) == ("row", "side", None)
    assert told["seconds"]["least"] <= told["seconds"]["median"] <= told["seconds"]["most"]


@pytest.mark.parametrize(
    "message",
    [
        "CUDA failed with error out of memory",
        "Failed to allocate memory for requested buffer of size 1",
        "OUT_OF_MEMORY",
    ],
)
def test_a_run_that_memory_does_not_suffice_for_has_no_seconds(message: str) -> None:
    def work() -> None:
        raise RuntimeError(message)

    assert _told(work)["seconds"] is None


def test_any_other_error_ends_the_part() -> None:
    def work() -> None:
        raise RuntimeError("an illegal memory access was encountered")

    with pytest.raises(RuntimeError, match="illegal"):
        _told(work)


def test_first_runs_do_not_count() -> None:
    runs: list[int] = []
    measured(lambda: runs.append(1), 3)
    assert len(runs) == 52


def test_on_a_machine_without_a_gpu_nothing_is_said_of_memory() -> None:
    stream = io.StringIO()
    Tell(stream, "cuda").measure(_ROW, lambda: lambda: None, 1)
    assert json.loads(stream.getvalue())["memory"] is None
