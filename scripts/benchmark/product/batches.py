"""The frontend's metrics of a model under load: calls in flight, their bound, and batch work."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import mean

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from frontend.concurrency.background import cancel_all

_POLL_SECONDS = 0.5
_TIMEOUT = aiohttp.ClientTimeout(total=5)
IN_FLIGHT, BOUND = "quartet_in_flight", "quartet_in_flight_bound"
WORK, EXECUTIONS = "quartet_batch_work", "quartet_batch_fill_ratio_sum"
_NAMES = (IN_FLIGHT, BOUND, WORK, EXECUTIONS)


@dataclass
class Batches:
    """The metrics at each poll; ``seen`` is empty if they could not be read."""

    seen: list[Mapping[str, float]] = field(default_factory=list)

    @property
    def in_flight(self) -> float | None:
        """Mean calls in flight, without the polls before the first and after the last call."""
        busy = [values[IN_FLIGHT] for values in self.seen if values[IN_FLIGHT]]
        return mean(busy) if busy else None

    @property
    def bound(self) -> float | None:
        return self.seen[-1][BOUND] if self.seen else None

    @property
    def work(self) -> float | None:
        """The work that an execution should have, at the last poll."""
        return self.seen[-1][WORK] if self.seen else None

    def fill(self, executions: float) -> float | None:
        """The mean share of the batch work that ``executions`` had."""
        if not self.seen or not executions:
            return None
        return (self.seen[-1][EXECUTIONS] - self.seen[0][EXECUTIONS]) / executions


def read(text: str, model: str) -> Mapping[str, float]:
    """The values of a model, summed over its series."""
    lines = (line for line in text.splitlines() if line.startswith(_NAMES) and f'model="{model}"' in line)
    found = dict.fromkeys(_NAMES, 0.0)
    for family in text_string_to_metric_families("\n".join(lines)):
        for sample in family.samples:
            if sample.name in found:
                found[sample.name] += sample.value
    return found


@asynccontextmanager
async def watched(address: str, model: str) -> AsyncIterator[Batches]:
    """Poll the metrics at ``address`` until the block ends."""
    batches = Batches()
    async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:

        async def poll() -> None:
            try:
                async with session.get(address) as response:
                    if response.status == 200:
                        batches.seen.append(read(await response.text(), model))
            except (aiohttp.ClientError, TimeoutError):
                # The table shows a dash.
                return

        async def poll_repeatedly() -> None:
            while True:
                await asyncio.sleep(_POLL_SECONDS)
                await poll()

        await poll()
        polling = asyncio.create_task(poll_repeatedly())
        try:
            yield batches
        finally:
            await cancel_all([polling])
            await poll()
