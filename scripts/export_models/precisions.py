"""The precisions that this processor is fast in, and those in which a text model is tried."""

from pathlib import Path

# Flags of instructions that multiply uint8 by int8 without saturating 16-bit sums: VNNI on x86-64, dot products on Arm.
FAST_INT8 = {"avx512_vnni", "avx_vnni", "asimddp"}
# Without AMX, a processor is slower in bfloat16 than in fp32.
_FAST_BF16 = {"amx_bf16"}
_CPUINFO = Path("/proc/cpuinfo")


def int8_is_fast(cpuinfo: Path = _CPUINFO) -> bool:
    """Whether this processor has the instructions for the int8 graphs."""
    return _has(FAST_INT8, cpuinfo)


def bf16_is_fast(cpuinfo: Path = _CPUINFO) -> bool:
    """Whether this processor is faster in bfloat16 than in float32."""
    return _has(_FAST_BF16, cpuinfo)


def text_precisions(wanted: str) -> list[str]:
    """The precisions in which a text model is tried, in order; ``auto`` keeps those that are fast on this processor."""
    if wanted == "fp16":
        return ["fp16"]
    order = ["int8", "bf16", "fp32"]
    if wanted == "auto":
        return [each for each in order if {"int8": int8_is_fast(), "bf16": bf16_is_fast()}.get(each, True)]
    return order[order.index(wanted) :]


def _has(flags: set[str], cpuinfo: Path) -> bool:
    return bool(flags & set(cpuinfo.read_text(encoding="utf-8").split()))
