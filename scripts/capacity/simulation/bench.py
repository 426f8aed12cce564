"""``make bench`` on the virtual clock: the same calls in the same three shapes, for the same times."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass

from frontend.config.settings import Settings
from frontend.errors import ApiError
from scripts.capacity.fits import Fits
from scripts.capacity.requests import Request
from scripts.capacity.simulation.clock import run
from scripts.capacity.simulation.frontend import Caller, Frontend
from scripts.capacity.simulation.machine import Machine
from scripts.capacity.simulation.triton import SimulatedTriton

_CALLER = Caller(0, 3)
_TRITON = "triton/one"


@dataclass(frozen=True)
class Sample:
    """When a call was due and how long its answer took, in seconds."""

    due: float
    seconds: float
    answered: bool


@dataclass(frozen=True)
class Load:
    """What is sent of one operation: first a few to warm up; ``shape`` is closed, open, burst or each."""

    shape: str
    requests: Sequence[Request]
    warm_up: Sequence[Request]
    callers: int = 1
    rate: float = 0.0
    seconds: float = 0.0
    seed: int = 0


class Bench:
    """One machine with all of the product on it, the client too; made inside the event loop that uses it."""

    def __init__(self, fits: Fits) -> None:
        self._fits, self._loop = fits, asyncio.get_running_loop()
        self._machine = Machine(fits.cores - fits.idle)
        self._frontend = Frontend("one", Settings(), fits, self._machine)
        self._client = asyncio.Lock()

    async def start(self) -> None:
        self._triton = SimulatedTriton(self._fits.models, self._machine)
        await self._frontend.found(_TRITON, self._triton)

    async def close(self) -> None:
        await self._frontend.close()

    def triton_seconds(self) -> float:
        """Of a processor, that its Triton has taken."""
        return sum(its.processor_seconds for its in self._triton.counts.values())

    async def send_all(self, load: Load) -> list[Sample]:
        """What becomes of a load."""
        if load.shape == "closed":
            return await self._closed(load.requests, load.callers, load.seconds)
        if load.shape == "open":
            return await self._poisson(load.requests, load.rate, load.seconds, load.seed)
        return await (self.burst(load.requests) if load.shape == "burst" else self._each(load.requests, load.callers))

    async def send(self, request: Request, due: float) -> Sample:
        """One call; the client's work comes half before it and half behind it."""
        line, answered = self._fits.requests[request.operation].client, True
        half = line.seconds(request.units, request.count) / 2
        await self._at_client(half)
        try:
            await self._frontend.answer(request, _CALLER)
        except ApiError:
            answered = False
        await self._at_client(half)
        return Sample(due, self._loop.time() - due, answered)

    async def _at_client(self, seconds: float) -> None:
        async with self._client:
            await self._machine.run(seconds)

    async def _closed(self, requests: Sequence[Request], callers: int, seconds: float) -> list[Sample]:
        """Callers who wait for their answers."""
        samples: list[Sample] = []
        end, turn = self._loop.time() + seconds, iter(range(1_000_000_000))

        async def caller() -> None:
            while (due := self._loop.time()) < end:
                samples.append(await self.send(requests[next(turn) % len(requests)], due))

        await asyncio.gather(*(caller() for _ in range(callers)))
        return samples

    async def _poisson(self, requests: Sequence[Request], rate: float, seconds: float, seed: int) -> list[Sample]:
        """Arrivals at ``rate`` a second that wait for nobody, at the moments of ``make bench`` for the same seed."""
        rng = random.Random(seed)
        sent: list[asyncio.Task[Sample]] = []
        due = begun = self._loop.time()
        while (due := due + rng.expovariate(rate)) < begun + seconds:
            await asyncio.sleep(max(0.0, due - self._loop.time()))
            sent.append(asyncio.create_task(self.send(requests[len(sent) % len(requests)], due)))
        return list(await asyncio.gather(*sent))

    async def _each(self, requests: Sequence[Request], callers: int) -> list[Sample]:
        """Every one once, by callers who wait for their answers."""
        waiting = iter(requests)

        async def caller() -> list[Sample]:
            return [await self.send(request, self._loop.time()) for request in waiting]

        answered = await asyncio.gather(*(caller() for _ in range(callers)))
        return [sample for its in answered for sample in its]

    async def burst(self, requests: Sequence[Request]) -> list[Sample]:
        """All at once."""
        now = self._loop.time()
        return list(await asyncio.gather(*(self.send(request, now) for request in requests)))


def simulate(fits: Fits, loads: Sequence[Load]) -> list[list[Sample]]:
    """What becomes of loads one after another on one product."""
    return [samples for samples, _ in run(_run(fits, loads))]


def triton_seconds(fits: Fits, load: Load) -> float:
    """What a load takes of Triton's processors, in seconds of one."""
    ((_, seconds),) = run(_run(fits, [load]))
    return seconds


async def _run(fits: Fits, loads: Sequence[Load]) -> list[tuple[list[Sample], float]]:
    bench = Bench(fits)
    await bench.start()
    found = []
    for load in loads:
        await bench.burst(load.warm_up)
        before = bench.triton_seconds()
        samples = await bench.send_all(load)
        found.append((samples, bench.triton_seconds() - before))
    await bench.close()
    return found
