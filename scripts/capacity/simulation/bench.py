"""``make bench`` on the virtual clock: the same calls in the same three shapes, for the same times."""

import asyncio
from collections.abc import Sequence

from frontend.config.settings import Settings
from frontend.errors import ApiError
from scripts.benchmark.common.load import Load, Sample, burst
from scripts.capacity.fits import Fits
from scripts.capacity.requests import Request
from scripts.capacity.simulation.clock import run
from scripts.capacity.simulation.frontend import Frontend
from scripts.capacity.simulation.machine import Machine
from scripts.capacity.simulation.triton import SimulatedTriton

_KEY, _TIER = 0, 3
_TRITON = "triton/one"
# What each load begins with, uncounted.
_WARM_UP = 4


class Bench:
    """One machine with all of the product on it, the client too; made inside the event loop that uses it."""

    def __init__(self, fits: Fits) -> None:
        self._fits, self._loop = fits, asyncio.get_running_loop()
        self._machine = Machine(fits.cores - fits.idle)
        self.frontend = Frontend("one", Settings(), fits, self._machine)
        self.triton = SimulatedTriton(fits.models, self._machine)
        self._client = asyncio.Lock()

    def triton_seconds(self) -> float:
        """Of a processor, that its Triton has taken."""
        return sum(its.processor_seconds for its in self.triton.counts.values())

    async def send(self, call: Request, due: float) -> Sample:
        """One call; the client's work comes half before it and half behind it."""
        line, status = self._fits.requests[call.operation].client, 200
        half = line.seconds(call.units, call.count) / 2
        await self._at_client(half)
        try:
            await self.frontend.answer(call, _KEY, _TIER)
        except ApiError as error:
            status = error.status
        await self._at_client(half)
        return Sample(due, self._loop.time() - due, status, call.units)

    async def _at_client(self, seconds: float) -> None:
        async with self._client:
            await self._machine.run(seconds)


def simulate(fits: Fits, loads: Sequence[Load[Request]]) -> list[tuple[list[Sample], float]]:
    """Loads one after another on one product: what becomes of each, and what it takes of Triton's processors, in
    seconds of one.
    """
    return run(_run(fits, loads))


async def _run(fits: Fits, loads: Sequence[Load[Request]]) -> list[tuple[list[Sample], float]]:
    bench = Bench(fits)
    await bench.frontend.found(_TRITON, bench.triton)
    found = []
    for load in loads:
        await burst(bench, load.calls[:_WARM_UP])
        before = bench.triton_seconds()
        samples = await load.send(bench)
        found.append((samples, bench.triton_seconds() - before))
    await bench.frontend.close()
    return found
