"""Looks at every process and at both frontends' metrics, every few seconds."""

import asyncio
import re
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import psutil

from tests.soak.product import Product

_EVERY_SECONDS = 3.0
# What the product has in hand: nothing when nobody calls.
GAUGES = (
    "quartet_in_flight",
    "quartet_queue_waiting",
    "quartet_requests_in_flight",
    "quartet_held_bytes",
    "quartet_live_sessions",
    "quartet_usage_waiting",
)
_LATE = re.compile(r'^quartet_loop_delay_seconds_(?:bucket\{le="([^"]+)"\}) (\S+)$', re.MULTILINE)
_SPIN = 1_000_000


@dataclass(frozen=True)
class Process:
    """Its number, its memory in bytes without what it shares, its open files."""

    pid: int
    memory: int
    files: int


@dataclass(frozen=True)
class Look:
    """``gauges`` by frontend. ``late`` counts ticks of the event loop up to a delay, by frontend.

    ``slowness`` is how long a fixed piece of work took, in seconds.
    """

    at: float
    processes: Mapping[str, Process]
    gauges: Mapping[int, Mapping[str, float]]
    late: Mapping[int, Mapping[float, float]]
    slowness: float


@dataclass
class Watch:
    """``looks`` has all of them."""

    product: Product
    now: Callable[[], float]
    looks: list[Look] = field(default_factory=list)

    async def run(self) -> None:
        """Without an end."""
        while True:
            self.looks.append(await asyncio.to_thread(self.look))
            await asyncio.sleep(_EVERY_SECONDS)

    def look(self, seconds: float = 5.0) -> Look:
        """A frontend that does not tell its metrics within ``seconds`` is left out."""
        at, gauges, late = self.now(), {}, {}
        for number, frontend in enumerate(self.product.frontends, 1):
            with suppress(OSError), urllib.request.urlopen(f"{frontend.admin_url}/metrics", timeout=seconds) as answer:
                text = answer.read().decode()
                gauges[number] = {name: summed(text, name) for name in GAUGES}
                late[number] = {float(bound): float(count) for bound, count in _LATE.findall(text)}
        return Look(at, dict(self._processes()), gauges, late, _slowness())

    def _processes(self) -> dict[str, Process]:
        found = {}
        for name, process in self.product.processes().items():
            with suppress(psutil.Error):
                memory = process.memory_info()
                found[name] = Process(process.pid, memory.rss - memory.shared, process.num_fds())
        return found


def summed(text: str, name: str) -> float:
    """A metric over all its labels, without the request that asks for the metrics."""
    found = re.findall(rf"^{name}(\{{.*\}})? (\S+)$", text, re.MULTILINE)
    return sum(float(value) for labels, value in found if 'operation="other"' not in labels)


def _slowness() -> float:
    began = time.perf_counter()
    for _ in range(_SPIN):
        pass
    return time.perf_counter() - began


def by_process(looks: "list[Look]") -> Mapping[str, list[tuple[float, Process]]]:
    """The looks at each process, from its start to its end."""
    found: defaultdict[str, list[tuple[float, Process]]] = defaultdict(list)
    for look in looks:
        for name, process in look.processes.items():
            found[name if name.endswith(str(process.pid)) else f"{name} {process.pid}"].append((look.at, process))
    return found
