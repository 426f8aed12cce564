"""Whether this processor multiplies integers as the int8 graphs need it."""

from pathlib import Path

# What multiplies uint8 by int8 without saturating sums of 16 bits: VNNI on x86-64, dot products on Arm.
FAST_INT8 = {"avx512_vnni", "avx_vnni", "asimddp"}


def int8_is_fast(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether this processor has the instructions that the int8 graphs are made for."""
    return bool(FAST_INT8 & set(cpuinfo.read_text(encoding="utf-8").split()))
