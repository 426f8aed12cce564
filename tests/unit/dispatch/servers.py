"""A fake Triton that waits for the test."""

import asyncio
from collections.abc import Sequence

import numpy as np

from frontend.errors import ApiError, BrokenModel
from frontend.tritons.inference import Capacity, Inputs, Outputs, Trial


class FakeTriton:
    """Answers with its name, or raises ``failure``. ``up`` is the result of probes."""

    def __init__(self, name: str) -> None:
        self.name, self.up = name, True
        self.failure: ApiError | None = None
        self.going = asyncio.Event()
        self.going.set()
        self.calls = 0
        self.reloaded: list[str] = []
        self.seconds = 0.0
        self.takes = Capacity(4)
        self.ended = 0
        self.closed = False

    async def infer(self, model: str, inputs: Inputs, outputs: Sequence[str], seconds: float) -> Outputs:
        self.calls += 1
        self.seconds = seconds
        try:
            await self.going.wait()
        finally:
            self.ended += 1
        if self.failure is not None:
            raise self.failure
        return {name: np.array([self.name]) for name in outputs}

    async def ready_models(self, models: Sequence[str]) -> set[str]:
        return set(models) if self.up else set()

    async def capacity(self, model: str) -> Capacity:
        return self.takes

    async def try_out(self, model: str, trial: Trial) -> None:
        raise NotImplementedError

    async def broken_models(self, models: Sequence[str]) -> set[str]:
        return set(models) if isinstance(self.failure, BrokenModel) and not self.reloaded else set()

    async def reload(self, model: str) -> None:
        self.reloaded.append(model)

    async def close(self) -> None:
        self.closed = True
