"""What a part is given, and how it tells what it finds: a JSON object a line."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TextIO

from scripts.benchmark.common.summary import Spread
from scripts.export_models.parity import Check
from scripts.gpu_check.card import Card, NoCardError
from scripts.gpu_check.sizes import Size

# The first runs load kernels, choose among them and take memory.
_WARM_UP = 2
_LEAST_SECONDS, _MOST_RUNS = 0.3, 50
# What the libraries' own errors have in common; each has a class of its own.
_NO_MEMORY = ("out of memory", "failed to allocate memory", "out_of_memory")


@dataclass(frozen=True)
class Row:
    """What one side did in one run, again and again: ``work`` on ``batch`` texts or windows of ``length`` each.

    ``units`` are tokens, or seconds of audio, and ``operations`` what they need at least. ``memory`` is what the part
    has taken of the card so far, in bytes; None on a processor. A run that the memory did not suffice for has
    ``seconds`` of None.
    """

    side: str
    work: str
    batch: int
    length: str
    units: float
    operations: float
    seconds: Spread | None = None
    memory: int | None = None


class Tell:
    """Writes what a part finds, and knows what it has taken of the card's memory."""

    def __init__(self, stream: TextIO, device: str) -> None:
        self._stream = stream
        self._card: Card | None = None
        # Without a card a part says so itself.
        with suppress(NoCardError):
            self._card = Card() if device == "cuda" else None
        self._before = self._taken()

    def _taken(self) -> int:
        return self._card.memory()[0] if self._card else 0

    def say(self, kind: str, **values: Any) -> None:
        print(json.dumps({"kind": kind, **values}), file=self._stream, flush=True)

    def fact(self, name: str, value: Any) -> None:
        self.say("fact", name=name, value=value)

    def check(self, check: Check) -> None:
        self.say("check", **asdict(check))

    def measure(self, row: Row, prepare: Callable[[], Callable[[], object]], runs: int) -> None:
        """Time what ``prepare`` gives, and tell ``row`` with it."""
        try:
            seconds = measured(prepare(), runs)
        except Exception as error:
            if not any(text in str(error).lower() for text in _NO_MEMORY):
                raise
            seconds = None
        memory = self._taken() - self._before if self._card else None
        self.say("row", **asdict(row) | {"seconds": asdict(seconds) if seconds else None, "memory": memory})


def measured(work: Callable[[], object], runs: int) -> Spread:
    """Seconds of ``work``, which must end with its answer in the processor's memory; at least ``runs`` of them."""
    for _ in range(_WARM_UP):
        work()
    seconds: list[float] = []
    while len(seconds) < runs or (sum(seconds) < _LEAST_SECONDS and len(seconds) < _MOST_RUNS):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return Spread.of(seconds)


@dataclass(frozen=True)
class Job:
    """``device`` is cuda or cpu; look-alikes lie in ``folder``, which the parts of one run share."""

    device: str
    size: Size
    folder: Path
    tell: Tell = field(repr=False)

    @property
    def half(self) -> bool:
        """Whether fp16 is computed, as a GPU is good at and a processor is not."""
        return self.device == "cuda"

    @property
    def precision(self) -> Literal["fp16", "fp32"]:
        return "fp16" if self.half else "fp32"
