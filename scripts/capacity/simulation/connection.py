"""How a frontend reaches a simulated Triton: its event loop writes one call after another and reads the answers."""

from collections.abc import Awaitable, Callable, Sequence

import numpy as np

from frontend.tritons.inference import Capacity, Inputs, Outputs, Trial
from scripts.capacity.simulation.triton import SimulatedTriton

_WORK, _LOOP = "work", "loop"


class Connection:
    """An ``InferenceServer``; ``on_event_loop`` takes so many seconds of the frontend's event loop."""

    def __init__(self, triton: SimulatedTriton, on_event_loop: Callable[[float], Awaitable[None]]) -> None:
        self._triton, self._on_event_loop = triton, on_event_loop

    async def infer(self, model: str, inputs: Inputs, outputs: Sequence[str], seconds: float) -> Outputs:
        """Nothing, when a call of the work that ``inputs`` name has been computed."""
        half = float(inputs[_LOOP]) / 2
        await self._on_event_loop(half)
        await self._triton.answer(model, float(inputs[_WORK]), seconds)
        await self._on_event_loop(half)
        return {}

    async def ready_models(self, models: Sequence[str]) -> set[str]:
        """All that it has, while it is up."""
        return set(models) & await self._triton.models()

    async def capacity(self, model: str) -> Capacity:
        """What its configuration lets it take at once."""
        await self._triton.models()
        fit = self._triton.fits[model]
        return Capacity(fit.instances, fit.max_batch, stops=fit.stops)

    async def try_out(self, model: str, trial: Trial) -> None:
        """Its numbers are always right."""

    async def ailing(self, models: Sequence[str]) -> set[str]:
        """Its models live as long as it does."""
        await self._triton.models()
        return set()

    async def reload(self, model: str) -> None:
        """Nothing is ever ailing."""

    async def close(self) -> None:
        """There is no connection."""


def inputs_of(work: float, loop: float) -> Inputs:
    """The tensors of a call: how much work it is in the unit of its model, and seconds that it takes of the loop."""
    return {_WORK: np.array(work), _LOOP: np.array(loop)}
