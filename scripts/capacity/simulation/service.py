"""A deployment under a traffic: what its callers see, and what it takes."""

import asyncio
import dataclasses
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from frontend.errors import BadGateway
from scripts.capacity.fits import Fits
from scripts.capacity.simulation.autoscaler import Scaler, Scaling
from scripts.capacity.simulation.beats import Board
from scripts.capacity.simulation.callers import Outcome, call
from scripts.capacity.simulation.clock import run
from scripts.capacity.simulation.deployment import Deployment, Fault
from scripts.capacity.simulation.frontend import Frontend
from scripts.capacity.simulation.machine import Machine
from scripts.capacity.simulation.pool import Pool
from scripts.capacity.traffic import Arrival

_LOOK_SECONDS = 5.0
# What still runs when the traffic ends has so long.
_END_SECONDS = 600.0


@dataclass(frozen=True)
class Seen:
    """``at`` seconds after the beginning: of a pool the Tritons that are ready, and the demand."""

    at: float
    ready: int
    demand: int


@dataclass
class Happened:
    """The calls, by how they ended, and what was seen every few seconds of each pool, by its name."""

    outcomes: list[tuple[Arrival, Outcome]] = field(default_factory=list)
    seen: dict[str, list[Seen]] = field(default_factory=lambda: defaultdict(list))


class Service:
    """Made inside the event loop that uses it."""

    def __init__(self, fits: Fits, deployment: Deployment, seed: int) -> None:
        self._deployment, self._rng = deployment, random.Random(seed)
        self._loop, board = asyncio.get_running_loop(), Board()
        zones = list(deployment.zones)
        self._frontends = [
            Frontend(
                f"frontend-{number:04}",
                deployment.settings,
                fits,
                Machine(deployment.frontend_cores),
                board if deployment.frontends > 1 else None,
                zones[number % len(zones)],
            )
            for number in range(deployment.frontends)
        ]
        self._pools = {
            plan.name: Pool(plan, fits.models, deployment.lags, zones, self._frontends, random.Random(seed + place))
            for place, plan in enumerate(deployment.pools)
        }
        self._under_way: dict[Frontend, set[asyncio.Task[None]]] = {frontend: set() for frontend in self._frontends}
        self._lost: list[Frontend] = []
        self._began = 0.0
        self.happened = Happened()

    async def run(self, arrivals: Iterable[Arrival]) -> None:
        """Begin with all that is planned, and answer until every call has ended."""
        for pool in self._pools.values():
            await pool.begin()
        await asyncio.gather(*(frontend.start() for frontend in self._frontends))
        # What is there from the first takes its time to be tried.
        began = self._began = self._loop.time()
        beside = [asyncio.create_task(self._look())]
        beside += [asyncio.create_task(self._scale(pool)) for pool in self._pools.values()]
        calls: set[asyncio.Task[None]] = set()
        for fault in self._deployment.faults:
            self._loop.call_at(began + fault.at, self._fail, fault)
        first: float | None = None
        for arrival in arrivals:
            first = arrival.at if first is None else first
            await asyncio.sleep(began + arrival.at - first - self._loop.time())
            task = asyncio.create_task(self._one(arrival))
            calls.add(task)
            task.add_done_callback(calls.discard)
        if calls:
            await asyncio.wait(calls, timeout=_END_SECONDS)
        for task in beside:
            task.cancel()
        for pool in self._pools.values():
            await pool.close()
        await asyncio.gather(*(frontend.close() for frontend in self._frontends + self._lost))

    async def _one(self, arrival: Arrival) -> None:
        async def send() -> None:
            frontend = self._rng.choice(self._frontends)
            task = asyncio.create_task(frontend.answer(arrival.request, arrival.key, arrival.tier))
            self._under_way[frontend].add(task)
            try:
                await task
            except asyncio.CancelledError:
                raise BadGateway("the connection broke off") from None
            finally:
                self._under_way[frontend].discard(task)

        outcome = await call(send, self._rng)
        since = dataclasses.replace(outcome, arrived=outcome.arrived - self._began)
        self.happened.outcomes.append((arrival, since))

    async def _look(self) -> None:
        while True:
            for name, pool in self._pools.items():
                self.happened.seen[name].append(Seen(self._loop.time() - self._began, pool.ready, pool.demand))
            await asyncio.sleep(_LOOK_SECONDS)

    async def _scale(self, pool: Pool) -> None:
        scaling = self._deployment.scaling
        if scaling.signal == "none":
            return
        scaler = Scaler(scaling, pool.plan.least, pool.plan.most)
        usages = _usages(pool, scaling)
        scraped = next(usages)
        while True:
            await asyncio.sleep(scaling.poll)
            # A metric is up to a scrape old when it is asked for, and scrapes come as often as questions.
            usage, scraped = scraped, next(usages)
            pool.scale(scaler.decide(self._loop.time(), pool.wanted, usage))

    def _fail(self, fault: Fault) -> None:
        if fault.pool:
            self._pools[fault.pool].die()
            return
        left = [zone for zone in self._deployment.zones if zone != fault.zone]
        for frontend in [its for its in self._frontends if its.zone == fault.zone]:
            self._frontends.remove(frontend)
            self._lost.append(frontend)
            frontend.die()
            for task in self._under_way[frontend]:
                task.cancel()
        for pool in self._pools.values():
            pool.lose(fault.zone, left)


def _usages(pool: Pool, scaling: Scaling) -> Iterator[float]:
    """By how much a pool's Tritons are used each time that this is asked, as a multiple of what is aimed at."""
    while scaling.signal == "demand":
        yield pool.filled / (scaling.target * max(1, pool.wanted))
    queued = computed = 0.0
    while True:
        counts = [its for replica in pool.replicas for its in replica.server.counts.values()]
        queue, compute = sum(its.queue_seconds for its in counts), sum(its.compute_seconds for its in counts)
        yield (queue - queued) / (compute - computed) if compute > computed else 0.0
        queued, computed = queue, compute


def simulate(fits: Fits, deployment: Deployment, arrivals: Iterable[Arrival], seed: int = 1) -> Happened:
    """What happens; the same for the same seed."""

    async def main() -> Happened:
        service = Service(fits, deployment, seed)
        await service.run(arrivals)
        return service.happened

    return run(main())
