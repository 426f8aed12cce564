"""Prices in whole micro-CHF, and conversion to and from text."""

import re
from dataclasses import dataclass
from decimal import Decimal

MICRO = 1_000_000
# Digits and at most one dot: no signs, exponents, underscores or digits of other scripts. Under a billion CHF.
_AMOUNT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?", re.ASCII)
# Quantity per priced unit, in milliseconds of audio, code points or tokens.
_SIZES = {"minute": 60_000, "million_characters": 1_000_000, "million_tokens": 1_000_000}


@dataclass(frozen=True)
class Price:
    """``micro_chf`` per ``unit`` of work."""

    operation: str
    unit: str
    micro_chf: int

    def amount(self, quantity: int) -> int:
        """Micro-CHF for ``quantity`` milliseconds, code points or tokens, rounded half up."""
        size = _SIZES[self.unit]
        return (quantity * self.micro_chf + size // 2) // size


def to_micro(text: str) -> int:
    """Convert CHF such as ``0.006`` to micro-CHF; ``ValueError`` for any other text or more than six decimals."""
    if not _AMOUNT.fullmatch(text):
        raise ValueError(f"{text!r} is not an amount in CHF with at most six decimals")
    return int(Decimal(text) * MICRO)


def to_chf(micro: int) -> str:
    """Micro-CHF as CHF with at least two decimals: ``12.50``, ``0.000325``."""
    whole, rest = divmod(abs(micro), MICRO)
    decimals = f"{rest:06}".rstrip("0").ljust(2, "0")
    return f"{'-' if micro < 0 else ''}{whole}.{decimals}"
