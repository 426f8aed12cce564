"""What is made of the parts' findings."""

import json
from pathlib import Path

import pytest

from scripts.benchmark.common.summary import Spread
from scripts.export_models.parity import Check
from scripts.gpu_check import report
from scripts.gpu_check.job import Row
from scripts.gpu_check.runner import Outcome

_GIB = 2**30


def _row(side: str, seconds: float | None) -> Row:
    spread = Spread(seconds, seconds, seconds) if seconds else None
    return Row(side, "vectors", 8, "128 tokens", 1024, 4e12, spread, 3 * _GIB)


@pytest.fixture
def outcomes() -> list[Outcome]:
    check = Check("packed fp16", "1 - cosine", 2e-6, 1e-4)
    return [
        Outcome("peak", "ran", facts={"measured by": "ONNX Runtime", "operations a second": 8e14}),
        Outcome("text", "ran", checks=[check], rows=[_row("packed fp16", 0.01)]),
        Outcome("padded", "ran", rows=[_row("padded fp16", 0.025), _row("padded fp16", None)]),
        Outcome("whisper", "skipped", "no libcublas.so.12"),
    ]


def test_a_row_is_told_by_rate_time_share_of_the_peak_memory_and_how_far_the_product_is_ahead(
    outcomes: list[Outcome],
) -> None:
    table = report.tables(outcomes)
    assert "| packed fp16 | vectors: 8 x 128 tokens | 102,400 | 10.00 | 50.0% | 3.00 | 1.00 |" in table
    assert "| padded fp16 | vectors: 8 x 128 tokens | 40,960 | 25.00 | 20.0% | 3.00 | 2.50 |" in table


def test_a_run_that_memory_did_not_suffice_for_has_no_numbers(outcomes: list[Outcome]) -> None:
    assert "| padded fp16 | vectors: 8 x 128 tokens | - | - | - | 3.00 | - |" in report.tables(outcomes)


def test_a_part_that_was_skipped_is_told_with_its_reason(outcomes: list[Outcome]) -> None:
    assert "| whisper | skipped | no libcublas.so.12 |" in report.tables(outcomes)


def test_without_the_product_nothing_is_beside_it(outcomes: list[Outcome]) -> None:
    table = report.tables([outcomes[0], *outcomes[2:]])
    assert "| padded fp16 | vectors: 8 x 128 tokens | 40,960 | 25.00 | 20.0% | 3.00 | - |" in table


def test_without_a_peak_there_is_no_share_of_it(outcomes: list[Outcome]) -> None:
    assert report.share(outcomes[1].rows[0], report.peak(outcomes[1:])) is None


def test_everything_is_written_down(outcomes: list[Outcome], tmp_path: Path) -> None:
    written = report.write(tmp_path, outcomes, "python -m scripts.gpu_check")
    assert [path.name for path in written] == ["gpu-check.json", "gpu-check.md", "gpu-check-texts.png"]
    assert all(path.stat().st_size for path in written)
    numbers = json.loads(written[0].read_text())
    assert numbers["command"] == "python -m scripts.gpu_check"
    assert [part["good"] for part in numbers["parts"]] == [True] * 4
    assert numbers["parts"][1]["rows"][0]["share of the peak"] == 0.5
    assert numbers["machine"]["cores"]


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (_row("packed fp16", 0.01), "  packed fp16, vectors: 8 x 128 tokens: 102,400 a second"),
        (_row("packed fp16", None), "  packed fp16, vectors: 8 x 128 tokens: not enough GPU memory"),
        (Check("a", "b", 0.5, 0.1), "  a, b: 5.0e-01, at most 1e-01: FAILED"),
        (("gpu", "NVIDIA H100"), "  gpu: NVIDIA H100"),
        (("operations a second", 8e14), "  operations a second: 8e+14"),
    ],
)
def test_what_is_found_is_told_as_a_line(found: Row | Check | tuple[str, object], line: str) -> None:
    assert report.line(found) == line
