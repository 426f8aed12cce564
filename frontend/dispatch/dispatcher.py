"""One call to a model: wait for a slot, send it to the Triton that has it, and to another if it never arrived."""

import asyncio
import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from frontend.dispatch.backends import Backend
from frontend.dispatch.division import Offer, View
from frontend.dispatch.inference import InferenceServer, Inputs, Outputs, State, Trial
from frontend.dispatch.locks import LocalLocks, Locks
from frontend.dispatch.model_queue import Bounds, ModelQueue, Turn
from frontend.dispatch.scheduler import Rules
from frontend.dispatch.shared_shares import SharedShares
from frontend.dispatch.shares import Demand, FixedShares
from frontend.dispatch.slots import Nearness
from frontend.dispatch.spare import Spare
from frontend.dispatch.window import CongestionWindow, Work
from frontend.errors import Unreached
from frontend.observe.metrics import CALL_FILL, MODEL_READY, SLOTS

_PIECE_SECONDS = 1.0
# What is so much longer than a piece and cannot be cut goes through a queue of its own.
_LONG = 2.0
# A key's part of what is no Triton's, where work is not cut into pieces of a second.
_KEY_SHARE = 0.5


class Dispatcher:
    """The queues of all models over all backends; made inside the event loop that uses it.

    ``locks`` keep frontends from loading the same model at once. One call to a Triton has
    ``call_seconds`` at most, whatever its request has. Tritons of this frontend's ``zone`` go before others.
    """

    def __init__(
        self,
        rules: Rules,
        bounds: Bounds,
        shares: FixedShares | SharedShares,
        locks: Locks | None = None,
        call_seconds: float = math.inf,
        zone: str = "",
    ) -> None:
        self._rules, self._bounds, self._shares, self._zone = rules, bounds, shares, zone
        self._spare = Spare(rules.hold_seconds)
        self._locks, self._call_seconds = locks or LocalLocks(), call_seconds
        self._trials: dict[str, Trial] = {}
        self._windows: dict[str, CongestionWindow] = {}
        self._queues: dict[str, ModelQueue] = {}
        self._backends: dict[str, Backend] = {}
        self._zones: dict[str, str] = {}
        self._views: dict[str, View] = {}
        # This frontend's slots, by model and Triton, and how near that is.
        self._own: dict[str, dict[str, tuple[int, Nearness]]] = {}

    def declare(self, model: str, work: Work, trial: Trial | None = None) -> None:
        """How the work of a model is counted and cut; a Triton that is added later is given calls of it after a
        ``trial`` that goes well.
        """
        self._windows[model] = CongestionWindow(work, _PIECE_SECONDS)
        if trial is not None:
            self._trials[model] = trial

    async def add(self, name: str, server: InferenceServer, models: Mapping[str, int], zone: str = "") -> None:
        """Send calls to ``server`` too; see ``Backend`` for ``models``. Returns when it has been tried out."""
        for model in models:
            MODEL_READY.labels(model)
        self._zones[name] = zone
        backend = Backend(name, server, models, self._changed, self._locks, self._trials, lambda: len(self._backends))
        self._backends[name] = backend
        await backend.start()

    async def remove(self, name: str) -> None:
        """Send it no calls from here on; returns when those that it has are done, and its ``server`` is closed."""
        backend = self._backends.pop(name)
        del self._zones[name]
        await backend.leave()
        if name not in self._backends:
            self._spare.forget(name)

    def fix(self, name: str, slots: int) -> ModelQueue:
        """The queue before what is no Triton's, with so many at once, of which a key has half at most."""
        rules = dataclasses.replace(self._rules, key_share=_KEY_SHARE)
        self._queues[name] = ModelQueue(name, rules, self._bounds, spare=self._spare)
        self._queues[name].set_limit(name, slots)
        SLOTS.labels(name, name).set(slots)
        return self._queues[name]

    async def close(self) -> None:
        for queue in self._queues.values():
            await queue.close()
        for backend in self._backends.values():
            await backend.close()

    def tells(self) -> dict[str, tuple[Demand, View]]:
        """What of each model waits or runs, and the Tritons that have it."""
        return {model: (self.demand(model), self._views.get(model, View())) for model in self._windows}

    def demand(self, model: str) -> Demand:
        """What of a model waits or runs, or of what has a queue besides."""
        demand = self.queue(model).demand
        if not self._divisible(model):
            return demand
        long = self.queue(model, "long").demand
        owners = Counter(demand.owners) + Counter(long.owners)
        return Demand(demand.calls + long.calls, owners, demand.is_used or long.is_used)

    def states(self, models: Iterable[str]) -> dict[str, State]:
        """The best that can be said of each of ``models``, over all backends."""
        backends = self._backends.values()
        return {
            model: min((backend.state(model) for backend in backends), key=list(State).index, default=State.AWAY)
            for model in models
        }

    def piece(self, model: str) -> float:
        """How much of its work a call of a model should have at most now."""
        return self._windows[model].piece

    def queue(self, model: str, kind: str = "usual") -> ModelQueue:
        """The queue before a model, or the one for what is ``long`` besides."""
        name = model if kind == "usual" else f"{model}:{kind}"
        if name not in self._queues:
            floors, window = self._shares.floors(name), self._windows.get(name)
            self._queues[name] = ModelQueue(model, self._rules, self._bounds, floors, window, kind, self._spare)
        return self._queues[name]

    async def infer(
        self, model: str, inputs: Callable[[], Inputs], outputs: Sequence[str], turn: Turn, cost: float = 1.0
    ) -> Outputs:
        """Call a model when its turn has come, for ``cost`` of its work.

        ``inputs`` are made only then, so that what waits takes no memory.
        """
        try:
            return await self._once(model, inputs, outputs, turn, cost)
        except Unreached:
            return await self._once(model, inputs, outputs, turn, cost)

    async def _once(
        self, model: str, inputs: Callable[[], Inputs], outputs: Sequence[str], turn: Turn, cost: float
    ) -> Outputs:
        async def call(name: str) -> Outputs:
            seconds = min(turn.remaining(), self._call_seconds)
            if name not in self._backends:
                raise Unreached("the model backend has gone away, retry with backoff")
            return await self._backends[name].infer(model, inputs(), outputs, seconds)

        queue = self.queue(model)
        if model in self._windows:
            CALL_FILL.labels(model).observe(cost / self.piece(model))
        if self._divisible(model) and cost > _LONG * self.piece(model):
            queue, cost = self.queue(model, "long"), 1.0
        return await queue.run(turn, call, cost=cost, grace=lambda name: self._grace(name, model))

    def _divisible(self, model: str) -> bool:
        return model in self._windows and self._windows[model].work.divisible

    def _grace(self, name: str, model: str) -> float:
        return self._backends[name].grace(model) if name in self._backends else math.inf

    def _changed(self, model: str, backend: str, slots: int, lanes: int) -> None:
        offers = {name: offer for name, offer in self._views.get(model, View()).offers.items() if name != backend}
        if slots:
            offers[backend] = Offer(slots, lanes, self._zones[backend])
        self._views[model] = View(offers)
        MODEL_READY.labels(model).set(bool(offers))
        self._share(model)

    def share(self) -> None:
        """Take this frontend's part of the slots of all models, as it is now."""
        now = asyncio.get_running_loop().time()
        for model, view in self._views.items():
            if self._shares.elsewhere(model):
                self._spare.note_others(view.offers, now)
            self._share(model)

    def _share(self, model: str) -> None:
        queue, view, before = self.queue(model), self._views[model], self._own.get(model, {})
        queue.set_floors(self._shares.floors(model))
        shared, homes = self._shares.own(model, view), self._shares.homes(model, view)
        own = self._own[model] = {
            name: (shared.get(name, 0), self._nearness(offer, name in homes)) for name, offer in view.offers.items()
        }
        for name in before.keys() - own.keys():
            self._set(model, name, None)
        for name, slots_there in own.items():
            if before.get(name) != slots_there:
                self._set(model, name, *slots_there)

    def _nearness(self, offer: Offer, is_home: bool) -> Nearness:
        if offer.zone != self._zone:
            return Nearness.FAR
        return Nearness.HOME if is_home else Nearness.NEAR

    def _set(self, model: str, name: str, slots: int | None, nearness: Nearness = Nearness.NEAR) -> None:
        if name in self._backends:
            self._backends[name].show(model, slots or 0)
        queues = [self.queue(model), self.queue(model, "long")] if self._divisible(model) else [self.queue(model)]
        if slots is None:
            for queue in queues:
                queue.drop(name)
            return
        offer = self._views[model].offers[name]
        queues[0].set_limit(name, slots, offer.lanes, nearness)
        for queue in queues[1:]:
            # One lane is left to what is short, where there is more than one.
            queue.set_limit(name, min(slots, max(1, offer.lanes - 1)), nearness=nearness)
