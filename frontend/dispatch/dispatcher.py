"""One call to a model: wait for a slot, send it to the Triton that has it, and to another if it never arrived."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from frontend.dispatch.backends import Backend, Inputs, Outputs, Triton
from frontend.dispatch.model_queue import Bounds, ModelQueue, Turn
from frontend.dispatch.scheduler import Rules
from frontend.dispatch.shares import Demand, Shares
from frontend.errors import BrokenModel, Unreached


class Dispatcher:
    """The queues of all models over all backends; made inside the event loop that uses it."""

    def __init__(self, rules: Rules, bounds: Bounds, shares: Shares) -> None:
        self._rules, self._bounds, self._shares = rules, bounds, shares
        self._queues: dict[str, ModelQueue] = {}
        self._backends: dict[str, Backend] = {}

    async def add(self, name: str, server: Triton, models: Mapping[str, int]) -> None:
        """Send calls to ``server`` too; see ``Backend`` for ``models``."""
        self._backends[name] = Backend(name, server, models, self._changed, self._own)
        await self._backends[name].start()

    def fix(self, model: str, slots: int) -> None:
        """A queue before what is no Triton's: ``slot`` alone is used, with so many at once."""
        self.queue(model).set_limit(model, slots)

    async def close(self) -> None:
        for backend in self._backends.values():
            await backend.close()

    def demands(self) -> dict[str, Demand]:
        """What of each model waits or runs."""
        return {model: queue.demand for model, queue in self._queues.items()}

    def ready(self, models: Iterable[str]) -> bool:
        """Whether every one of ``models`` has a backend that can take calls."""
        return all(any(backend.slots(model) for backend in self._backends.values()) for model in models)

    def queue(self, model: str) -> ModelQueue:
        if model not in self._queues:
            self._queues[model] = ModelQueue(model, self._rules, self._bounds, self._shares.floors(model))
        return self._queues[model]

    def slot(self, model: str, turn: Turn) -> AbstractAsyncContextManager[str]:
        """A slot of a model, without a call."""
        return self.queue(model).slot(turn)

    async def infer(self, model: str, inputs: Callable[[], Inputs], outputs: Sequence[str], turn: Turn) -> Outputs:
        """Call a model when its turn has come. ``inputs`` are made only then, so that what waits takes no memory."""
        try:
            return await self._once(model, inputs, outputs, turn)
        except Unreached:
            return await self._once(model, inputs, outputs, turn)

    async def _once(self, model: str, inputs: Callable[[], Inputs], outputs: Sequence[str], turn: Turn) -> Outputs:
        async with self.slot(model, turn) as name:
            backend = self._backends[name]
            try:
                return await backend.server.infer(model, inputs(), outputs, turn.remaining())
            except Unreached:
                backend.out()
                raise
            except BrokenModel:
                backend.broken(model)
                raise

    def _own(self, model: str, slots: int) -> int:
        """This frontend's part of a backend's slots; its part of the floors follows the demand as they do."""
        self.queue(model).set_floors(self._shares.floors(model))
        return self._shares.own(model, slots)

    def _changed(self, model: str, backend: str, slots: int) -> None:
        self.queue(model).set_limit(backend, slots)
