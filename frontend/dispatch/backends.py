"""The Tritons that calls go to: which of their models can take calls now, and how many."""

import asyncio
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from frontend.background import Repeating, cancel_all
from frontend.errors import BadGateway
from frontend.observe import BACKEND_SLOTS, log

# A frozen server is out after one probe and its patience: under a second.
_PROBE_SECONDS = 0.25
_PATIENCE_SECONDS = 0.5

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


class Triton(Protocol):
    """A server that answers calls and probes; it raises ``BadGateway`` and its kinds."""

    async def infer(self, model: str, inputs: Inputs, outputs: Sequence[str], seconds: float) -> Outputs:
        """The named outputs of one run."""

    async def ready_models(self, models: Sequence[str]) -> set[str]:
        """Those of ``models`` that can take calls."""

    async def capacity(self, model: str) -> Capacity:
        """What it takes of a model at once."""

    async def reload(self, model: str) -> None:
        """Unload a model and load it again."""


class Backend:
    """One server under probes; ``changed`` hears (model, backend, slots, lanes) when that changes.

    ``models`` are those it serves, with the calls each may have at once; 0 takes what fills two of its batches. ``own``
    says how many of a model's slots are this frontend's.
    """

    def __init__(self, name: str, server: Triton, models: Mapping[str, int], changed: Changed, own: Own) -> None:
        self.name, self.server = name, server
        self._models, self._changed, self._own = models, changed, own
        self._slots = dict.fromkeys(models, 0)
        self._capacity: dict[str, Capacity] = {}
        self._reloading: dict[str, asyncio.Task[None]] = {}
        self._probing = Repeating(_PROBE_SECONDS, self.probe)

    async def start(self) -> None:
        """Probe once, then again and again."""
        await self.probe()
        self._probing.start()

    async def close(self) -> None:
        await self._probing.close()
        await cancel_all(list(self._reloading.values()))

    async def probe(self) -> None:
        """Ask for every model, and tell what has changed."""
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                ready = await self.server.ready_models(list(self._models))
                for model in ready - self._capacity.keys():
                    self._capacity[model] = await self.server.capacity(model)
        except (BadGateway, TimeoutError):
            ready = set()
        for model in self._models:
            usable = model in ready and model not in self._reloading
            self._tell(model, self._own(model, self._calls(model)) if usable else 0)

    def _calls(self, model: str) -> int:
        return self._models[model] or self._capacity[model].calls

    def slots(self, model: str) -> int:
        """How many calls of a model it can have at once now."""
        return self._slots.get(model, 0)

    def grace(self, model: str) -> float:
        """Seconds that a call of a model has whose caller is gone: what cannot be stopped keeps its slot to its end."""
        return 0.0 if self._capacity[model].stops else math.inf

    def out(self) -> None:
        """A call never reached the server, and the next would not either; the probes put it back."""
        for model in self._models:
            self._tell(model, 0)

    def broken(self, model: str) -> None:
        """A model whose process died says for ever that it is ready, and comes back only when it is loaded anew."""
        self._tell(model, 0)
        if model not in self._reloading:
            self._reloading[model] = asyncio.create_task(self._reload(model))

    async def _reload(self, model: str) -> None:
        log.error("a model is loaded anew", extra={"fields": {"backend": self.name, "model": model}})
        try:
            await self.server.reload(model)
        except BadGateway as error:
            log.error("a model could not be loaded", extra={"fields": {"model": model, "details": error.message}})
        finally:
            del self._reloading[model]

    def _tell(self, model: str, slots: int) -> None:
        if self._slots[model] != slots:
            self._slots[model] = slots
            fields = {"backend": self.name, "model": model, "slots": slots}
            log.log(logging.INFO if slots else logging.WARNING, "slots of a backend", extra={"fields": fields})
            BACKEND_SLOTS.labels(self.name, model).set(slots)
            self._changed(model, self.name, slots, self._capacity[model].lanes if slots else 1)
