"""The Tritons that calls go to: which of their models can take calls now, and how many."""

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from numpy.typing import NDArray

from frontend.dispatch.locks import Locks
from frontend.dispatch.reloads import Reloadable, Reloads
from frontend.dispatch.shown import Shown
from frontend.errors import ApiError, BadAnswer, BadGateway, BrokenModel, Unreached
from frontend.observe.logs import log
from frontend.processes.background import Repeating, cancel_all

_PROBE_SECONDS = 0.25
_PATIENCE_SECONDS = 0.5
# One late answer may be a busy machine's; a frozen server is out after two, in a second and a half.
_MISSES = 2
# How often a model that has no calls is asked whether its process lives.
_WATCH_SECONDS = 2.0
# How long a start waits for models to be tried out, and how soon one is tried again that failed, or gave wrong numbers.
_START_SECONDS = 5.0
_AGAIN_SECONDS = 1.0
_UNFIT_SECONDS = 30.0

Inputs = Mapping[str, NDArray[Any]]
Outputs = dict[str, NDArray[Any]]
Changed = Callable[[str, str, int, int], None]
Own = Callable[[str, int], int]


@dataclass(frozen=True)
class Capacity:
    """What a server takes of a model at once: ``calls`` fill two batches of every instance; these are the ``lanes``.

    ``stops`` says that it leaves off soon where a call is cancelled, and does not compute it to its end.
    """

    calls: int
    lanes: int = 1
    stops: bool = False


@dataclass(frozen=True)
class Trial:
    """A small call whose answer shows whether a model's numbers are right on the machine that it runs on."""

    inputs: Inputs
    outputs: Sequence[str]


class State(StrEnum):
    """What can be said of a model."""

    READY = "ready"
    LOADING = "loading"
    UNFIT = "unfit"
    AWAY = "away"


class InferenceServer(Reloadable, Protocol):
    """A server that answers calls and probes; it raises ``BadGateway`` and its kinds."""

    async def infer(self, model: str, inputs: Inputs, outputs: Sequence[str], seconds: float) -> Outputs:
        """The named outputs of one run."""

    async def ready_models(self, models: Sequence[str]) -> set[str]:
        """Those of ``models`` that can take calls; ``Unreached`` where nobody listens."""

    async def capacity(self, model: str) -> Capacity:
        """What it takes of a model at once."""

    async def try_out(self, model: str, trial: Trial) -> None:
        """``BadAnswer`` where the numbers of a model are wrong."""


class Backend:
    """One server under probes; ``changed`` hears (model, backend, slots, lanes) when that changes.

    ``models`` are those it serves, with the calls each may have at once; 0 takes what fills two of its batches. ``own``
    says how many of a model's slots are this frontend's. A model gets calls when its trial, if there is one among
    ``trials``, went well since it came.
    """

    def __init__(
        self,
        name: str,
        server: InferenceServer,
        models: Mapping[str, int],
        changed: Changed,
        own: Own,
        locks: Locks,
        trials: Mapping[str, Trial],
    ) -> None:
        self.name, self._server = name, server
        self._models, self._changed, self._own, self._trials = models, changed, own, trials
        self._slots = dict.fromkeys(models, 0)
        self._shown = Shown(name, models)
        self._running: Counter[str] = Counter()
        self._capacity: dict[str, Capacity] = {}
        # Misses in a row; models that may have calls; that gave wrong numbers; when those that failed are due again.
        self._misses = 0
        self._fit: set[str] = set()
        self._unfit: set[str] = set()
        self._due: dict[str, float] = {}
        self._trying: dict[str, asyncio.Task[None]] = {}
        self._reloads = Reloads(name, server, locks)
        self._repeating = (Repeating(_PROBE_SECONDS, self.probe), Repeating(_WATCH_SECONDS, self.watch))

    async def start(self) -> None:
        """Probe once and wait for what that finds to be tried out; then probe again and again."""
        await self.probe()
        if self._trying:
            await asyncio.wait(list(self._trying.values()), timeout=_START_SECONDS)
        for repeating in self._repeating:
            repeating.start()

    async def close(self) -> None:
        for repeating in self._repeating:
            await repeating.close()
        await cancel_all(list(self._trying.values()))
        await self._reloads.close()
        self._shown.close()

    async def infer(self, model: str, inputs: Inputs, outputs: Sequence[str], seconds: float) -> Outputs:
        """The named outputs of one run; what its failure tells of the server is noted."""
        self._running[model] += 1
        try:
            with self._shown.call(model):
                return await self._server.infer(model, inputs, outputs, seconds)
        except Unreached:
            self._out()
            raise
        except BrokenModel:
            self._broken(model)
            raise
        finally:
            self._running[model] -= 1

    async def probe(self) -> None:
        """Ask for every model, and tell what has changed."""
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                ready = await self._server.ready_models(list(self._models))
        except Unreached:
            self._shown.answers(False)
            self._out()
        except (BadGateway, TimeoutError):
            self._shown.answers(False)
            self._misses += 1
            if self._misses >= _MISSES:
                self._out()
        else:
            self._misses = 0
            self._shown.answers(True)
            for model in self._models:
                self._see(model, model in ready)

    async def watch(self) -> None:
        """Find models that nobody calls and whose process died: Triton may go on saying that they are ready."""
        idle = [model for model in self._models if not self._running[model] and model not in self._reloads]
        try:
            for model in await self._server.ailing(idle):
                self._broken(model)
        except BadGateway:
            # The probes say more of a server that is away.
            return

    def slots(self, model: str) -> int:
        """How many calls of a model it can have at once now."""
        return self._slots.get(model, 0)

    def state(self, model: str) -> State:
        """What can be said of a model here."""
        if self.slots(model):
            return State.READY
        if model in self._reloads:
            return State.LOADING
        return State.UNFIT if model in self._unfit else State.AWAY

    def grace(self, model: str) -> float:
        """Seconds that a call of a model has whose caller is gone: what cannot be stopped keeps its slot to its end."""
        return 0.0 if self._capacity[model].stops else math.inf

    def _out(self) -> None:
        """The next call would not reach the server either; the probes put it back."""
        for model in self._models:
            self._see(model, False)

    def _broken(self, model: str) -> None:
        self._reloads.begin(model)
        self._see(model, False)

    def _see(self, model: str, ready: bool) -> None:
        trying = self._trying.get(model)
        if not ready or model in self._reloads:
            self._fit.discard(model)
            self._unfit.discard(model)
            self._due.pop(model, None)
            if trying is not None:
                trying.cancel()
        elif model not in self._fit and trying is None and self._due.get(model, 0.0) <= self._now():
            self._trying[model] = asyncio.create_task(self._try_out(model))
        self._tell(model)

    async def _try_out(self, model: str) -> None:
        """Learn what the server takes of a model that has come, and whether its numbers are right there."""
        try:
            self._capacity[model] = await self._server.capacity(model)
            if model in self._trials:
                await self._server.try_out(model, self._trials[model])
        except BrokenModel:
            self._reloads.begin(model)
        except BadAnswer:
            if model not in self._unfit:
                fields = {"backend": self.name, "model": model}
                log.error("the numbers of a model are wrong on its machine", extra={"fields": fields})
            self._unfit.add(model)
            self._due[model] = self._now() + _UNFIT_SECONDS
        except ApiError:
            self._due[model] = self._now() + _AGAIN_SECONDS
        else:
            self._unfit.discard(model)
            self._fit.add(model)
            self._tell(model)
        finally:
            del self._trying[model]

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    def _tell(self, model: str) -> None:
        slots, lanes = 0, 1
        if model in self._fit:
            capacity = self._capacity[model]
            slots, lanes = self._own(model, self._models[model] or capacity.calls), capacity.lanes
        if self._slots[model] != slots:
            self._slots[model] = slots
            self._shown.slots(model, slots)
            fields = {"backend": self.name, "model": model, "slots": slots}
            log.log(logging.INFO if slots else logging.WARNING, "slots of a backend", extra={"fields": fields})
            self._changed(model, self.name, slots, lanes)
