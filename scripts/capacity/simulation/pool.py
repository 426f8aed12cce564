"""The Tritons of one pool: they are started, found by the frontends, lost and taken away."""

import asyncio
import itertools
import random
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scripts.capacity.fits import ModelFit
from scripts.capacity.simulation.deployment import Lags, PoolPlan
from scripts.capacity.simulation.frontend import Frontend
from scripts.capacity.simulation.machine import Machine
from scripts.capacity.simulation.triton import Health, SimulatedTriton


@dataclass(eq=False)
class Replica:
    """A Triton that is there, under the name that the frontends know it by."""

    name: str
    zone: str
    server: SimulatedTriton


class Pool:
    """Made inside the event loop that uses it."""

    def __init__(
        self,
        plan: PoolPlan,
        fits: Mapping[str, ModelFit],
        lags: Lags,
        zones: Sequence[str],
        frontends: list[Frontend],
        rng: random.Random,
    ) -> None:
        self.plan, self.wanted = plan, plan.replicas
        self.replicas: list[Replica] = []
        self._fits = {model: fits[model] for model in plan.models}
        self._lags, self._zones, self._frontends, self._rng = lags, zones, frontends, rng
        self._numbers = itertools.count()
        self._tasks: set[asyncio.Task[None]] = set()
        self._starting: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        """What is planned is there from the first."""
        for _ in range(self.wanted):
            await self._add(0.0)

    async def close(self) -> None:
        """What was to happen does not."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def demand(self) -> int:
        """Calls that wait or run, over all frontends and models."""
        return sum(frontend.dispatcher.demand(model) for frontend in self._frontends for model in self._fits)

    @property
    def filled(self) -> float:
        """How many Tritons these calls fill."""
        dispatchers = [frontend.dispatcher for frontend in self._frontends]
        fill = {model: max((its.per_triton(model) for its in dispatchers), default=0.0) for model in self._fits}
        return sum(sum(its.demand(model) for its in dispatchers) / calls for model, calls in fill.items() if calls)

    @property
    def ready(self) -> int:
        return sum(replica.server.health is Health.UP for replica in self.replicas)

    def scale(self, wanted: int) -> None:
        """Have so many: new ones when they have started, the newest go at once."""
        self._starting = [task for task in self._starting if not task.done()]
        for _ in range(self.wanted, wanted):
            self._start()
        for _ in range(wanted, self.wanted):
            if self._starting:
                self._starting.pop().cancel()
            elif self.replicas:
                self._go(self.replicas[-1])
        self.wanted = wanted

    def die(self) -> None:
        """The process of one ends, and is back when its models are loaded."""
        replica = self._rng.choice(self.replicas)
        replica.server.fail(Health.DEAD)
        asyncio.get_running_loop().call_later(self._lags.load, replica.server.recover)

    def lose(self, zone: str, left: Sequence[str]) -> None:
        """All of a zone say nothing more; others take their places in the zones that are left."""
        self._zones = left
        for replica in [replica for replica in self.replicas if replica.zone == zone]:
            replica.server.fail(Health.SILENT)
            self._do(self._replaced(replica))

    async def _replaced(self, replica: Replica) -> None:
        await asyncio.sleep(self._lags.lost)
        if replica in self.replicas:
            self._go(replica)
        await asyncio.sleep(self._lags.evicted)
        if len(self.replicas) + sum(not task.done() for task in self._starting) < self.wanted:
            self._start()

    def _go(self, replica: Replica) -> None:
        self.replicas.remove(replica)
        for frontend in self._frontends:
            self._do(frontend.dispatcher.remove(replica.name))

    def _start(self) -> None:
        self._starting.append(self._do(self._add(self._lags.start)))

    async def _add(self, after: float) -> None:
        await asyncio.sleep(after)
        number = next(self._numbers)
        server = SimulatedTriton(self._fits, Machine(self.plan.cores))
        replica = Replica(f"{self.plan.name}/{number}", self._zones[number % len(self._zones)], server)
        self.replicas.append(replica)
        await asyncio.gather(*(self._found(frontend, replica) for frontend in self._frontends))

    async def _found(self, frontend: Frontend, replica: Replica) -> None:
        await asyncio.sleep(self._rng.random() * self._lags.resolve)
        if replica in self.replicas:
            await frontend.found(replica.name, replica.server, replica.zone)

    def _do(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
