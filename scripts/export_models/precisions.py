"""Which precisions this processor is fast in, and those in which a text model is tried."""

from pathlib import Path

# What multiplies uint8 by int8 without saturating sums of 16 bits: VNNI on x86-64, dot products on Arm.
FAST_INT8 = {"avx512_vnni", "avx_vnni", "asimddp"}
# Without AMX a processor with bfloat16 is slower in it than in fp32.
_FAST_BF16 = {"amx_bf16"}
_CPUINFO = Path("/proc/cpuinfo")


def int8_is_fast(cpuinfo: Path = _CPUINFO) -> bool:
    """Whether this processor has the instructions that the int8 graphs are made for."""
    return _has(FAST_INT8, cpuinfo)


def bf16_is_fast(cpuinfo: Path = _CPUINFO) -> bool:
    """Whether this processor is faster in bfloat16 than in float32."""
    return _has(_FAST_BF16, cpuinfo)


def text_precisions(wanted: str) -> list[str]:
    """The precisions in which a text model is tried, in order; ``auto`` begins with what is fast on this processor."""
    if wanted == "fp16":
        return ["fp16"]
    order = ["int8", "bf16", "fp32"]
    if wanted == "auto":
        return [each for each in order if {"int8": int8_is_fast(), "bf16": bf16_is_fast()}.get(each, True)]
    return order[order.index(wanted) :]


def _has(flags: set[str], cpuinfo: Path) -> bool:
    return bool(flags & set(cpuinfo.read_text(encoding="utf-8").split()))
