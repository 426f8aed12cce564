"""A simulated Triton: batcher, instances, and the time of executions on a machine."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from frontend.errors import Late
from frontend.tritons.inference import Capacity, Inputs, Outputs, Trial
from lab.capacity.machine import Machine
from scripts.capacity.fits import ModelFit

_WORK, _LOOP = "work", "loop"
# The output of an answer: the time at which its execution began.
BEGAN = "began"


@dataclass(frozen=True)
class Execution:
    """When it began, in seconds, and its number of calls."""

    began: float
    calls: int


@dataclass(eq=False)
class _Call:
    work: float
    arrived: float
    answer: "asyncio.Future[Outputs]"


class _Batcher:
    """The batcher of one model: it executes when the first call has waited ``delay`` or a batch is full."""

    def __init__(self, fit: ModelFit, machine: Machine) -> None:
        self._fit, self._machine = fit, machine
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Call] = deque()
        self._free = fit.instances
        self._timer: asyncio.TimerHandle | None = None
        self.executions: list[Execution] = []

    def put(self, call: _Call) -> None:
        self._waiting.append(call)
        self._pump()

    def _pump(self) -> None:
        while self._free and self._waiting:
            if self._waiting[0].answer.done():
                self._waiting.popleft()
                continue
            due = self._waiting[0].arrived + self._fit.delay
            if len(self._waiting) < self._fit.max_batch and due > self._loop.time():
                if self._timer is None:
                    self._timer = self._loop.call_at(due, self._wake)
                return
            self._execute()

    def _wake(self) -> None:
        self._timer = None
        self._pump()

    def _execute(self) -> None:
        batch: list[_Call] = []
        while self._waiting and len(batch) < self._fit.max_batch:
            call = self._waiting.popleft()
            # Triton drops cancelled calls in its queue.
            if not call.answer.done():
                batch.append(call)
        now = self._loop.time()
        self.executions.append(Execution(now, len(batch)))
        self._free -= 1
        seconds = self._fit.line.seconds(sum(call.work for call in batch), len(batch))
        self._machine.start(seconds, self._fit.cores, lambda: self._ended(batch, now))

    def _ended(self, batch: list[_Call], began: float) -> None:
        self._free += 1
        for call in batch:
            if not call.answer.done():
                call.answer.set_result({BEGAN: np.array(began)})
        self._pump()


class SimulatedTriton:
    """Models on one machine. Frontends call it through a ``Connection``."""

    def __init__(self, fits: Mapping[str, ModelFit], machine: Machine) -> None:
        self.fits = fits
        self._batchers = {model: _Batcher(fit, machine) for model, fit in fits.items()}
        self._loop = asyncio.get_running_loop()

    @property
    def executions(self) -> Mapping[str, Sequence[Execution]]:
        """All executions by model."""
        return {model: batcher.executions for model, batcher in self._batchers.items()}

    async def answer(self, model: str, work: float, seconds: float) -> Outputs:
        """The answer to a call of ``work``, when its execution ends."""
        answer: asyncio.Future[Outputs] = self._loop.create_future()
        self._batchers[model].put(_Call(work, self._loop.time(), answer))
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            raise Late("no answer in time") from None


class Connection:
    """An ``InferenceServer``; ``on_event_loop`` uses seconds of the frontend's event loop."""

    def __init__(self, triton: SimulatedTriton, on_event_loop: Callable[[float], Awaitable[None]]) -> None:
        self._triton, self._on_event_loop = triton, on_event_loop

    async def infer(self, model: str, inputs: Inputs, outputs: Sequence[str], seconds: float) -> Outputs:
        """The answer to a call of the work that ``inputs`` name."""
        half = float(inputs[_LOOP]) / 2
        await self._on_event_loop(half)
        answer = await self._triton.answer(model, float(inputs[_WORK]), seconds)
        await self._on_event_loop(half)
        return answer

    async def ready_models(self, models: Sequence[str]) -> set[str]:
        """Report all models as ready."""
        return set(models)

    async def capacity(self, model: str) -> Capacity:
        """The capacity that the configuration sets."""
        fit = self._triton.fits[model]
        return Capacity(fit.instances, fit.max_batch, stops=fit.stops)

    async def try_out(self, model: str, trial: Trial) -> None:
        """Do nothing: the answers are always right."""

    async def broken_models(self, models: Sequence[str]) -> set[str]:
        """Report no model as broken."""
        return set()

    async def reload(self, model: str) -> None:
        """Do nothing: no model is ever broken."""

    async def close(self) -> None:
        """Do nothing: there is no connection."""


def inputs_of(work: float, loop: float) -> Inputs:
    """The tensors of a call: its work in the unit of its model, and its seconds on the event loop."""
    return {_WORK: np.array(work), _LOOP: np.array(loop)}
