"""Calls to models: queue a call, send it to a Triton, and try once more if it did not arrive."""

import asyncio
import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from frontend.dispatch.admission import ONE_CALL, Admission, ModelCalls
from frontend.dispatch.batch_size import Work
from frontend.dispatch.context import RequestContext
from frontend.dispatch.local import LocalCalls
from frontend.dispatch.queue import Bounds, ModelQueue
from frontend.dispatch.scheduler import Rules
from frontend.dispatch.sender import Sender
from frontend.errors import Unreached
from frontend.observe.metrics import (
    BATCH_FILL,
    BATCH_WORK,
    IN_FLIGHT_BOUND,
    IN_FLIGHT_PER_TRITON,
    MODEL_READY,
    THROUGHPUT,
)
from frontend.peers.frontends import Frontends, Snapshot
from frontend.tritons.backend import Backend
from frontend.tritons.inference import Capacity, InferenceServer, Inputs, Outputs, State, Trial

# Calls in flight by owner, by model.
Floors = Mapping[str, Mapping[str, int]]
# The largest share of a frontend's workers that one key gets.
_KEY_SHARE = 0.5


class Dispatcher:
    """The queues of all models over all Tritons. Make it inside the event loop that uses it.

    A call to a Triton takes at most ``call_seconds``, even if its request has a later deadline.
    Tritons in this frontend's ``zone`` are preferred.
    """

    def __init__(
        self,
        rules: Rules,
        bounds: Bounds,
        frontends: Frontends,
        floors: Floors | None = None,
        call_seconds: float = math.inf,
        zone: str = "",
    ) -> None:
        self._rules, self._bounds, self._frontends, self._zone = rules, bounds, frontends, zone
        self._floors, self._call_seconds = floors or {}, call_seconds
        self._admission = Admission(rules)
        self._sender = Sender(self._admission)
        self._trials: dict[str, Trial] = {}
        self._queues: dict[str, ModelQueue] = {}
        self._backends: dict[str, Backend] = {}

    def register_model(self, model: str, work: Work = ONE_CALL, trial: Trial | None = None) -> None:
        """Register a model and its unit of work. A Triton gets calls after it passes the ``trial``."""
        calls = ModelCalls(model, self._rules, self._floors.get(model, {}), work)
        self._admission.models[model] = calls
        enter, leave = partial(self._sender.enter, calls), partial(self._sender.leave, calls)
        self._queues[model] = ModelQueue(calls, enter, leave, self._bounds)
        # Read when they are scraped: every call changes them.
        BATCH_WORK.labels(model).set_function(lambda: calls.batch.work)
        THROUGHPUT.labels(model).set_function(lambda: calls.rate)
        IN_FLIGHT_PER_TRITON.labels(model).set_function(lambda: calls.per_triton)
        if trial is not None:
            self._trials[model] = trial

    async def add(self, name: str, server: InferenceServer, models: Mapping[str, int], zone: str = "") -> None:
        """Add a Triton; ``models`` gives the most calls in flight by model, 0 for no cap.

        It returns after the first trials.
        """
        for model in models:
            MODEL_READY.labels(model)
            if model not in self._queues:
                self.register_model(model)
        triton = self._admission.triton(name, models)
        triton.near = zone == self._zone
        backend = Backend(
            name, server, models, self._changed, self._frontends.lock, self._trials, lambda: len(self._backends)
        )
        self._backends[name] = backend
        await backend.start()

    async def remove(self, name: str) -> None:
        """Stop sending calls to a Triton. It returns when its calls have ended and its client is closed."""
        backend = self._backends.pop(name)
        await backend.leave()
        if name not in self._backends:
            self._admission.forget(name)

    def add_local_queue(self, name: str, slots: int) -> ModelQueue:
        """Add a queue for local workers with this number of ``slots``. One key gets at most half of them."""
        calls = LocalCalls(name, dataclasses.replace(self._rules, key_share=_KEY_SHARE), slots)
        IN_FLIGHT_BOUND.labels(name, name).set(slots)
        IN_FLIGHT_PER_TRITON.labels(name).set(slots)
        self._queues[name] = ModelQueue(calls, calls.enter, calls.leave, self._bounds)
        return self._queues[name]

    async def close(self) -> None:
        for queue in self._queues.values():
            await queue.close()
        for backend in self._backends.values():
            await backend.close()

    def snapshot(self) -> Snapshot:
        """The batch work of each model in use, for other frontends; 0 if it was not measured."""
        now = asyncio.get_running_loop().time()
        return {
            model: calls.batch.work if calls.batch.throughput else 0.0
            for model, calls in self._admission.models.items()
            if calls.scheduler.is_used(now)
        }

    def states(self, models: Iterable[str]) -> dict[str, State]:
        """The best state of each of ``models`` over all Tritons."""
        backends = self._backends.values()
        return {
            model: min((backend.state(model) for backend in backends), key=list(State).index, default=State.AWAY)
            for model in models
        }

    def batch(self, model: str) -> float:
        """The batch work of a model, which is also the most work of a call."""
        return self._admission.models[model].batch.work

    def queue(self, model: str) -> ModelQueue:
        return self._queues[model]

    async def infer(
        self,
        model: str,
        inputs: Callable[[], Inputs],
        outputs: Sequence[str],
        context: RequestContext,
        cost: float = 1.0,
    ) -> Outputs:
        """Queue a call of ``cost``, send it and return the named outputs.

        ``inputs`` is called when the call is sent, because waiting calls should hold no arrays. Raises ``Busy`` if the
        call is refused, and the errors of ``InferenceServer.infer``.
        """

        async def call(name: str) -> Outputs:
            seconds = min(context.remaining(), self._call_seconds)
            if name not in self._backends:
                raise Unreached("the model backend has gone away, retry with backoff")
            return await self._backends[name].infer(model, inputs(), outputs, seconds)

        def grace(name: str) -> float:
            return self._backends[name].grace(model) if name in self._backends else math.inf

        queue = self._queues[model]
        BATCH_FILL.labels(model).observe(cost / self.batch(model))
        try:
            return await queue.run(context, call, cost=cost, grace=grace)
        except Unreached:
            return await queue.run(context, call, cost=cost, grace=grace)

    def share(self) -> None:
        """Apply this frontend's current share of every model."""
        now = asyncio.get_running_loop().time()
        for model in self._admission.models:
            self._share(model, now)
        self._sender.send()

    def _changed(self, model: str, backend: str, capacity: Capacity | None, cap: int) -> None:
        load = self._admission.tritons[backend].models[model]
        load.takes_calls, load.cap = capacity is not None, cap
        if capacity is not None:
            load.capacity = capacity
        MODEL_READY.labels(model).set(self._admission.models[model].is_open)
        self._share(model, asyncio.get_running_loop().time())
        self._sender.send()

    def _share(self, model: str, now: float) -> None:
        calls, share = self._admission.models[model], self._frontends.share_of(model)
        calls.share = share.fraction
        calls.scheduler.set_floors(
            {owner: -(-floor // share.count) for owner, floor in self._floors.get(model, {}).items()}
        )
        calls.configure()
        if share.batch is not None:
            calls.batch.follow(share.batch)
        tritons = sorted(calls.tritons)
        # Each frontend starts at another Triton, so that frontends do not fill the same one first.
        first = share.number * len(tritons) // share.count
        for number, name in enumerate(tritons):
            triton = calls.tritons[name]
            triton.models[model].turn = (number - first) % len(tritons) * share.count // len(tritons)
            triton.frontends = share.count
            if share.is_used_elsewhere:
                triton.used_elsewhere(now)
            if name in self._backends:
                self._backends[name].show(model, math.ceil(share.fraction * triton.models[model].bound))
