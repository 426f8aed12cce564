"""A Triton that computes nothing: its batcher, its instances, and the time that its executions take on a machine."""

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from frontend.errors import BadGateway, Late, Unreached
from frontend.tritons.inference import Outputs
from scripts.capacity.fits import ModelFit
from scripts.capacity.simulation.machine import Machine


class Health(Enum):
    """Whether a Triton answers, refuses connections, or says nothing, as on a machine that has lost its power."""

    UP = "up"
    DEAD = "dead"
    SILENT = "silent"


@dataclass
class Counts:
    """As Triton's statistics: executions, seconds in its queue and in the model by request, of a processor too."""

    executions: int = 0
    queue_seconds: float = 0.0
    compute_seconds: float = 0.0
    processor_seconds: float = 0.0


@dataclass(eq=False)
class _Call:
    work: float
    arrived: float
    answer: "asyncio.Future[Outputs]"


class _Batcher:
    """One model: joins what waits, once the first has waited ``delay`` or a batch is full and an instance is free."""

    def __init__(self, fit: ModelFit, machine: Machine) -> None:
        self._fit, self._machine = fit, machine
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Call] = deque()
        self._running: set[_Call] = set()
        self._free = fit.instances
        self._timer: asyncio.TimerHandle | None = None
        self.counts = Counts()

    def put(self, call: _Call) -> None:
        self._waiting.append(call)
        self._pump()

    def drop(self) -> list[_Call]:
        """All that waits or runs, of which nothing more is heard."""
        calls = [*self._running, *self._waiting]
        self._running.clear()
        self._waiting.clear()
        self._free = self._fit.instances
        return calls

    def _pump(self) -> None:
        now = self._loop.time()
        while self._free and self._waiting:
            if self._waiting[0].answer.done():
                self._waiting.popleft()
                continue
            due = self._waiting[0].arrived + self._fit.delay
            if len(self._waiting) < self._fit.max_batch and due > now:
                if self._timer is None:
                    self._timer = self._loop.call_at(due, self._wake)
                return
            self._execute(now)

    def _wake(self) -> None:
        self._timer = None
        self._pump()

    def _execute(self, now: float) -> None:
        batch: list[_Call] = []
        while self._waiting and len(batch) < self._fit.max_batch:
            call = self._waiting.popleft()
            # Triton drops what was cancelled in its queue.
            if not call.answer.done():
                batch.append(call)
        self._free -= 1
        self._running.update(batch)
        works = [call.work for call in batch]
        seconds = self._fit.line.seconds(sum(works), len(works), max(works, default=0.0))
        self.counts.processor_seconds += seconds * self._fit.cores
        self._machine.start(seconds, self._fit.cores, lambda: self._ended(batch, now))

    def _ended(self, batch: list[_Call], began: float) -> None:
        took = self._loop.time() - began
        self._free += 1
        self.counts.executions += 1
        for call in batch:
            self._running.discard(call)
            self.counts.queue_seconds += began - call.arrived
            self.counts.compute_seconds += took
            if not call.answer.done():
                call.answer.set_result({})
        self._pump()


class SimulatedTriton:
    """Some models on one machine; a frontend reaches it by a ``Connection``."""

    def __init__(self, fits: Mapping[str, ModelFit], machine: Machine) -> None:
        self.fits, self._machine = fits, machine
        self._batchers = {model: _Batcher(fit, machine) for model, fit in fits.items()}
        self._loop = asyncio.get_running_loop()
        self.health = Health.UP

    @property
    def counts(self) -> Mapping[str, Counts]:
        """By model, since the beginning."""
        return {model: batcher.counts for model, batcher in self._batchers.items()}

    def fail(self, health: Health) -> None:
        """It dies, and its calls fail; or falls silent, and its calls have their deadlines to wait for."""
        self.health = health
        self._machine.clear()
        for batcher in self._batchers.values():
            for call in batcher.drop():
                if health is Health.DEAD and not call.answer.done():
                    call.answer.set_exception(BadGateway("the connection broke off"))

    def recover(self) -> None:
        """It answers again."""
        self.health = Health.UP

    async def answer(self, model: str, work: float, seconds: float) -> None:
        """Return when a call of so much work has been computed."""
        if self.health is Health.DEAD:
            raise Unreached("the connection was refused")
        answer: asyncio.Future[Outputs] = self._loop.create_future()
        if self.health is Health.UP:
            self._batchers[model].put(_Call(work, self._loop.time(), answer))
        try:
            async with asyncio.timeout(seconds):
                await answer
        except TimeoutError:
            raise Late("no answer in time") from None

    async def models(self) -> set[str]:
        """Those that it has, while it is up."""
        if self.health is Health.DEAD:
            raise Unreached("the connection was refused")
        if self.health is Health.SILENT:
            await self._loop.create_future()
        return set(self.fits)
