"""The precisions that this processor is fast in, and those in which a text model is tried."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

# fp16 is for CUDA, the others are for processors; bf16 is the graph of fp32, computed in bfloat16.
Precision = Literal["fp32", "bf16", "int8", "fp16"]

# Flags of instructions that multiply uint8 by int8 without saturating 16-bit sums: VNNI on x86-64, dot products on Arm.
FAST_INT8 = {"avx512_vnni", "avx_vnni", "asimddp"}
# Flags of instructions that multiply bfloat16, on x86-64 and Arm. Without, it is slower than fp32.
_FAST_BF16 = {"amx_bf16", "avx512_bf16", "bf16"}
# How many times as fast int8 must be as the best of the others, which are more exact.
_WORTH_INT8 = 1.2
_CPUINFO = Path("/proc/cpuinfo")


def int8_is_fast(cpuinfo: Path = _CPUINFO) -> bool:
    """Whether this processor has the instructions for the int8 graphs."""
    return _has(FAST_INT8, cpuinfo)


def bf16_is_fast(cpuinfo: Path = _CPUINFO) -> bool:
    """Whether this processor has instructions for bfloat16."""
    return _has(_FAST_BF16, cpuinfo)


def text_precisions(wanted: str) -> list[Precision]:
    """The precisions in which a text model is tried, in order; for ``auto``, those to measure on this processor."""
    if wanted == "fp16":
        return ["fp16"]
    order: list[Precision] = ["int8", "bf16", "fp32"]
    if wanted == "auto":
        return [each for each in order if {"int8": int8_is_fast(), "bf16": bf16_is_fast()}.get(each, True)]
    return order[list[str](order).index(wanted) :]


def by_speed(seconds: Mapping[Precision, float]) -> list[Precision]:
    """The measured precisions that are worth what they lose, best first: int8 if it is much faster, bf16, fp32."""
    others: list[Precision] = ["bf16", "fp32"]
    exact = [each for each in others if seconds.get(each, float("inf")) <= seconds["fp32"]]
    worth_it = seconds.get("int8", float("inf")) * _WORTH_INT8 <= seconds[exact[0]]
    return ["int8", *exact] if worth_it else exact


def _has(flags: set[str], cpuinfo: Path) -> bool:
    return bool(flags & set(cpuinfo.read_text(encoding="utf-8").split()))
