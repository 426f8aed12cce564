"""The signals of a process, as the kernel lists them."""

import re
from pathlib import Path


def signals(pid: int, field: str) -> set[int]:
    """The numbers in a field of its status: SigCgt has those with a handler, ShdPnd those that wait for theirs."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    (mask,) = re.findall(rf"^{field}:\s+(\w+)$", status, re.MULTILINE)
    return {number for number in range(1, 65) if int(mask, 16) >> (number - 1) & 1}
