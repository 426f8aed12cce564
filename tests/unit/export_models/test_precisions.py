"""What a processor is fast in, and in which precisions text models are tried."""

from pathlib import Path

import pytest

from scripts.export_models import precisions
from scripts.export_models.precisions import Precision, bf16_is_fast, by_speed, int8_is_fast, text_precisions


@pytest.mark.parametrize(
    ("wanted", "int8", "bf16", "tried"),
    [
        ("auto", True, True, ["int8", "bf16", "fp32"]),
        ("auto", True, False, ["int8", "fp32"]),
        ("auto", False, False, ["fp32"]),
        ("int8", False, False, ["int8", "bf16", "fp32"]),
        ("bf16", True, False, ["bf16", "fp32"]),
        ("fp32", True, True, ["fp32"]),
        ("fp16", True, True, ["fp16"]),
    ],
)
def test_precisions_are_tried_from_the_wanted_one_to_the_exact_one(
    monkeypatch: pytest.MonkeyPatch, wanted: str, int8: bool, bf16: bool, tried: list[str]
) -> None:
    monkeypatch.setattr(precisions, "int8_is_fast", lambda: int8)
    monkeypatch.setattr(precisions, "bf16_is_fast", lambda: bf16)
    assert text_precisions(wanted) == tried


@pytest.mark.parametrize(("flags", "fast"), [("fma avx512_vnni", True), ("fma avx2", False), ("asimddp", True)])
def test_fast_int8_is_read_from_the_processors_flags(tmp_path: Path, flags: str, fast: bool) -> None:
    (tmp_path / "cpuinfo").write_text(f"flags\t\t: {flags}\n", encoding="utf-8")
    assert int8_is_fast(tmp_path / "cpuinfo") is fast


@pytest.mark.parametrize(
    ("flags", "fast"),
    [("avx512_bf16 amx_bf16", True), ("avx512_bf16", True), ("asimddp bf16", True), ("avx512_vnni", False)],
)
def test_bfloat16_is_fast_with_instructions_for_it(tmp_path: Path, flags: str, fast: bool) -> None:
    (tmp_path / "cpuinfo").write_text(f"flags\t\t: {flags}\n", encoding="utf-8")
    assert bf16_is_fast(tmp_path / "cpuinfo") is fast


@pytest.mark.parametrize(
    ("seconds", "tried"),
    [
        ({"int8": 1.0, "bf16": 1.2, "fp32": 2.0}, ["int8", "bf16", "fp32"]),
        ({"int8": 1.0, "bf16": 1.19, "fp32": 2.0}, ["bf16", "fp32"]),
        ({"int8": 1.0, "bf16": 3.0, "fp32": 2.0}, ["int8", "fp32"]),
        ({"int8": 2.0, "bf16": 3.0, "fp32": 2.0}, ["fp32"]),
        ({"int8": 1.0, "fp32": 1.1}, ["fp32"]),
        ({"int8": 1.0, "fp32": 1.3}, ["int8", "fp32"]),
        ({"bf16": 1.0, "fp32": 1.3}, ["bf16", "fp32"]),
    ],
)
def test_less_exact_ways_are_tried_if_they_are_worth_it(seconds: dict[Precision, float], tried: list[str]) -> None:
    assert by_speed(seconds) == tried
