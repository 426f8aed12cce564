"""One call to a model: wait for a slot, send it to the Triton that has it, and to another if it never arrived."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

from frontend.dispatch.backends import Backend, Inputs, Outputs, Own, Triton
from frontend.dispatch.model_queue import Bounds, ModelQueue, Turn
from frontend.dispatch.scheduler import Rules
from frontend.errors import BrokenModel, Unreached


class Dispatcher:
    """The queues of all models over all backends; made inside the event loop that uses it."""

    def __init__(self, rules: Callable[[str], Rules], bounds: Bounds) -> None:
        self._rules, self._bounds = rules, bounds
        self._queues: dict[str, ModelQueue] = {}
        self._backends: dict[str, Backend] = {}

    async def add(self, name: str, server: Triton, models: Mapping[str, int], own: Own) -> None:
        """Send calls to ``server`` too; see ``Backend`` for ``models`` and ``own``."""
        self._backends[name] = Backend(name, server, models, self._changed, own)
        await self._backends[name].start()

    def fix(self, model: str, slots: int) -> None:
        """A model that is no Triton's: ``slot`` alone is used, with so many at once."""
        self.queue(model).set_limit(model, slots)

    async def close(self) -> None:
        for backend in self._backends.values():
            await backend.close()

    def demands(self) -> dict[str, int]:
        """How many calls of each model wait or run."""
        return {model: queue.demand for model, queue in self._queues.items()}

    def ready(self, models: Iterable[str]) -> bool:
        """Whether every one of ``models`` has a backend that can take calls."""
        return all(any(backend.slots(model) for backend in self._backends.values()) for model in models)

    def queue(self, model: str) -> ModelQueue:
        if model not in self._queues:
            self._queues[model] = ModelQueue(model, self._rules(model), self._bounds)
        return self._queues[model]

    @asynccontextmanager
    async def slot(self, model: str, turn: Turn) -> AsyncIterator[str]:
        """A slot of a model, without a call."""
        async with self.queue(model).slot(turn) as backend:
            yield backend

    async def infer(self, model: str, inputs: Callable[[], Inputs], outputs: Sequence[str], turn: Turn) -> Outputs:
        """Call a model when its turn has come. ``inputs`` are made only then, so that what waits takes no memory."""
        try:
            return await self._once(model, inputs, outputs, turn)
        except Unreached:
            return await self._once(model, inputs, outputs, turn)

    async def _once(self, model: str, inputs: Callable[[], Inputs], outputs: Sequence[str], turn: Turn) -> Outputs:
        async with self.queue(model).slot(turn) as name:
            backend = self._backends[name]
            try:
                return await backend.server.infer(model, inputs(), outputs, turn.remaining())
            except Unreached:
                backend.out()
                raise
            except BrokenModel:
                backend.broken(model)
                raise

    def _changed(self, model: str, backend: str, slots: int) -> None:
        self.queue(model).set_limit(backend, slots)
