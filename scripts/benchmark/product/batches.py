"""What the frontend's metrics say of a model under load: its calls in flight, their bound, and the work of a batch."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import mean

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from frontend.processes.background import cancel_all

_LOOK_SECONDS = 0.5
_PATIENCE = aiohttp.ClientTimeout(total=5)
IN_FLIGHT, BOUND = "quartet_in_flight", "quartet_in_flight_bound"
WORK, EXECUTIONS = "quartet_batch_work", "quartet_batch_fill_ratio_sum"
_NAMES = (IN_FLIGHT, BOUND, WORK, EXECUTIONS)


@dataclass
class Batches:
    """Each look at the metrics; ``seen`` is empty where they could not be read."""

    seen: list[Mapping[str, float]] = field(default_factory=list)

    @property
    def in_flight(self) -> float | None:
        """Calls in flight on average, but for the looks before the first and after the last call."""
        busy = [its[IN_FLIGHT] for its in self.seen if its[IN_FLIGHT]]
        return mean(busy) if busy else None

    @property
    def bound(self) -> float | None:
        return self.seen[-1][BOUND] if self.seen else None

    @property
    def work(self) -> float | None:
        """The work that an execution should have, as it was found in the end."""
        return self.seen[-1][WORK] if self.seen else None

    def fill(self, executions: float) -> float | None:
        """How full so many executions were."""
        if not self.seen or not executions:
            return None
        return (self.seen[-1][EXECUTIONS] - self.seen[0][EXECUTIONS]) / executions


def read(text: str, model: str) -> Mapping[str, float]:
    """The sums of a model's series."""
    lines = (line for line in text.splitlines() if line.startswith(_NAMES) and f'model="{model}"' in line)
    found = dict.fromkeys(_NAMES, 0.0)
    for family in text_string_to_metric_families("\n".join(lines)):
        for sample in family.samples:
            if sample.name in found:
                found[sample.name] += sample.value
    return found


@asynccontextmanager
async def watched(address: str, model: str) -> AsyncIterator[Batches]:
    """Look at the metrics at ``address`` until the context ends."""
    its = Batches()
    async with aiohttp.ClientSession(timeout=_PATIENCE) as session:

        async def look() -> None:
            try:
                async with session.get(address) as response:
                    if response.status == 200:
                        its.seen.append(read(await response.text(), model))
            except (aiohttp.ClientError, TimeoutError):
                # What cannot be seen is not shown.
                return

        async def look_on() -> None:
            while True:
                await asyncio.sleep(_LOOK_SECONDS)
                await look()

        await look()
        looking = asyncio.create_task(look_on())
        try:
            yield its
        finally:
            await cancel_all([looking])
            await look()
