"""One Triton under probes: which models are ready, and their capacity."""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from frontend.concurrency.background import Repeating, cancel_all
from frontend.errors import AccountRefused, ApiError, BadAnswer, BadGateway, BrokenModel, Unloaded, Unreached
from frontend.observe.logs import log
from frontend.tritons.inference import Capacity, InferenceServer, Inputs, Outputs, State, Trial
from frontend.tritons.metrics import BackendMetrics, pool_of
from frontend.tritons.reloads import Lock, Reloads

# Seconds between probes of a server and between checks of idle models, and the most of each per second of a frontend.
_PROBE_SECONDS, _PROBES_PER_SECOND = 0.25, 25
_WATCH_SECONDS, _WATCHES_PER_SECOND = 2.0, 4
# The timeout of a probe.
_PROBE_TIMEOUT_SECONDS = 0.5
# Failed probes in a row until a server gets no calls. One may be a busy machine; two take about 1.5 s.
_MOST_MISSES = 2
# The longest wait for trials at the start; the pause after a failed trial; the pause after wrong numbers.
_START_SECONDS = 5.0
_RETRY_SECONDS = 1.0
_UNFIT_SECONDS = 30.0

Changed = Callable[[str, str, Capacity | None, int], None]


class Backend:
    """One server under probes. It calls ``changed(model, backend, capacity, cap)``; without capacity, calls stop.

    ``models`` gives the most calls in flight by model, 0 for no cap. ``count`` returns the number of all servers.
    A model gets calls after it passes its trial, if ``trials`` has one.
    """

    def __init__(
        self,
        name: str,
        server: InferenceServer,
        models: Mapping[str, int],
        changed: Changed,
        lock: Lock,
        trials: Mapping[str, Trial],
        count: Callable[[], int],
    ) -> None:
        self.name, self._server = name, server
        self._models, self._changed, self._trials, self._count = models, changed, trials, count
        self._serving: set[str] = set()
        self._metrics = BackendMetrics(pool_of(name), models)
        self._running: Counter[str] = Counter()
        self._leaving, self._idle = False, asyncio.Event()
        self._capacity: dict[str, Capacity] = {}
        # Failed probes in a row; models that passed; models with wrong numbers; times of the next trials.
        self._misses = 0
        self._fit: set[str] = set()
        self._unfit: set[str] = set()
        self._due: dict[str, float] = {}
        self._trying: dict[str, asyncio.Task[None]] = {}
        self._first: asyncio.Task[None] | None = None
        self._reloads = Reloads(name, server, lock)
        self._repeating = (Repeating(0.0, self._next_probe), Repeating(0.0, self._next_watch))

    async def start(self) -> None:
        """Probe once, wait for the first trials, then probe in the background."""
        self._first = asyncio.create_task(self.probe())
        await asyncio.wait([self._first])
        if self._trying:
            await asyncio.wait(list(self._trying.values()), timeout=_START_SECONDS)
        if self._leaving:
            return
        for repeating in self._repeating:
            repeating.start()

    async def close(self) -> None:
        """Stop probes, trials and reloads, and close the connection."""
        self._leaving = True
        try:
            if self._first is not None:
                await cancel_all([self._first])
            for repeating in self._repeating:
                await repeating.close()
            await cancel_all(list(self._trying.values()))
            await self._reloads.close()
            self._metrics.close()
        finally:
            await self._server.close()

    def show(self, model: str, bound: int) -> None:
        """Update the metric of this frontend's bound here."""
        self._metrics.set_bound(model, bound)

    async def leave(self) -> None:
        """Refuse new calls, wait for those in flight, then close."""
        self._leaving = True
        self._take_out()
        try:
            while self._running.total():
                self._idle.clear()
                await self._idle.wait()
        finally:
            await self.close()

    async def infer(self, model: str, inputs: Inputs, outputs: Sequence[str], seconds: float) -> Outputs:
        """Run a model and return the named outputs. A failure updates the backend's state."""
        if self._leaving:
            raise Unreached("the model backend is going away, retry with backoff")
        self._running[model] += 1
        try:
            with self._metrics.call(model):
                return await self._server.infer(model, inputs, outputs, seconds)
        except Unloaded:
            self._note_readiness(model, False)
            raise
        except Unreached:
            self._take_out()
            raise
        except BrokenModel:
            self._note_death(model)
            raise
        finally:
            self._running[model] -= 1
            self._idle.set()

    async def _next_probe(self) -> None:
        pause = max(_PROBE_SECONDS, self._count() / _PROBES_PER_SECOND)
        await asyncio.sleep(_PROBE_SECONDS if self._misses else pause)
        await self.probe()

    async def _next_watch(self) -> None:
        await asyncio.sleep(max(_WATCH_SECONDS, self._count() / _WATCHES_PER_SECOND))
        await self.watch()

    async def probe(self) -> None:
        """Check all models and report changes. It does nothing once the backend is leaving."""
        if self._leaving:
            return
        try:
            async with asyncio.timeout(_PROBE_TIMEOUT_SECONDS):
                ready = await self._server.ready_models(list(self._models))
        except Unreached:
            self._metrics.set_up(False)
            self._take_out()
        except (BadGateway, TimeoutError) as error:
            self._metrics.set_up(False)
            if isinstance(error, AccountRefused) and not self._misses:
                log.error("Triton refuses QUARTET_TRITON_SECRET", extra={"fields": {"backend": self.name}})
            self._misses += 1
            if self._misses >= _MOST_MISSES:
                self._take_out()
        else:
            self._misses = 0
            self._metrics.set_up(True)
            for model in self._models:
                self._note_readiness(model, model in ready)

    async def watch(self) -> None:
        """Find idle models whose process died. Triton may still report them as ready."""
        idle = [model for model in self._models if not self._running[model] and model not in self._reloads]
        try:
            for model in await self._server.broken_models(idle):
                self._note_death(model)
        except BadGateway:
            # The probes handle an unreachable server.
            return

    def state(self, model: str) -> State:
        """The state of a model on this backend."""
        if model in self._serving:
            return State.READY
        if model in self._reloads:
            return State.LOADING
        return State.UNFIT if model in self._unfit else State.AWAY

    def grace(self, model: str) -> float:
        """Seconds until an abandoned call is cancelled. It is infinite if the model cannot stop a call."""
        return 0.0 if model in self._capacity and self._capacity[model].stops else math.inf

    def _take_out(self) -> None:
        """Take all models out; the probes bring them back."""
        for model in self._models:
            self._note_readiness(model, False)

    def _note_death(self, model: str) -> None:
        if not self._leaving:
            self._reloads.begin(model)
        self._note_readiness(model, False)

    def _note_readiness(self, model: str, ready: bool) -> None:
        trying = self._trying.get(model)
        if not ready or self._leaving or model in self._reloads:
            self._fit.discard(model)
            self._unfit.discard(model)
            self._due.pop(model, None)
            if trying is not None:
                trying.cancel()
        elif model not in self._fit and trying is None and self._due.get(model, 0.0) <= self._now():
            self._trying[model] = asyncio.create_task(self._try_out(model))
            # A task that is cancelled before its first step runs no ``finally``.
            self._trying[model].add_done_callback(lambda task: self._trying.pop(model))
        self._publish(model)

    async def _try_out(self, model: str) -> None:
        """Read the capacity of a new model and run its trial."""
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
            self._due[model] = self._now() + _RETRY_SECONDS
        else:
            self._unfit.discard(model)
            self._fit.add(model)
            self._publish(model)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    def _publish(self, model: str) -> None:
        capacity = self._capacity[model] if model in self._fit else None
        if (model in self._serving) is (capacity is not None):
            return
        (self._serving.discard if capacity is None else self._serving.add)(model)
        self.show(model, 0)
        fields = {"backend": self.name, "model": model}
        if capacity is None:
            log.warning("model unavailable", extra={"fields": fields})
        else:
            log.info("model available", extra={"fields": fields})
        self._changed(model, self.name, capacity, self._models[model])
