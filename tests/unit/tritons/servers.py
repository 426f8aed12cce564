"""A server that tests control."""

import asyncio
from collections.abc import Sequence

from frontend.errors import BadAnswer, BadGateway, BrokenModel, Unreached
from frontend.tritons.inference import Capacity, Inputs, Outputs, Trial
from tests.eventually import until


class FakeServer:
    """``up`` are the ready models. A frozen server does not answer; one that is away refuses connections.

    The process of a ``dead`` model has died, although the model may be ready. A ``wrong`` model fails its trial.
    ``capacities`` and ``caps`` are those that its backend reported last; a capacity is None if the model is out.
    """

    def __init__(self) -> None:
        self.up = {"embedder", "whisper"}
        self.frozen = self.away = False
        # The number of next probes that are late.
        self.late = 0
        self.probes = 0
        self.dead, self.wrong = set[str](), set[str]()
        self.tried: list[str] = []
        # Errors of the next loads.
        self.failures: list[BadGateway] = []
        self.asked: list[str] = []
        self.reloaded: list[str] = []
        self.may_answer, self.may_reload = asyncio.Event(), asyncio.Event()
        self.may_answer.set()
        self.closed = False
        self.capacities: dict[str, Capacity | None] = {}
        self.caps: dict[str, int] = {}

    async def ready_models(self, models: Sequence[str]) -> set[str]:
        self.probes += 1
        if self.frozen:
            await asyncio.Event().wait()
        if self.away:
            raise Unreached("away")
        if self.late:
            self.late -= 1
            raise BadGateway("late")
        return self.up & set(models)

    async def infer(self, model: str, inputs: Inputs, outputs: Sequence[str], seconds: float) -> Outputs:
        await self.may_answer.wait()
        if model in self.dead:
            raise BrokenModel("dead")
        return {}

    async def try_out(self, model: str, trial: Trial) -> None:
        self.tried.append(model)
        if model in self.wrong:
            raise BadAnswer("not finite")

    async def capacity(self, model: str) -> Capacity:
        return {"embedder": Capacity(2, 16, gpu=True), "whisper": Capacity(1, 8, stops=True)}[model]

    async def broken_models(self, models: Sequence[str]) -> set[str]:
        self.asked.extend(models)
        return self.dead & set(models)

    async def reload(self, model: str) -> None:
        await self.may_reload.wait()
        self.reloaded.append(model)
        if self.failures:
            raise self.failures.pop(0)
        self.dead.discard(model)

    async def close(self) -> None:
        self.closed = True

    @property
    def is_in(self) -> dict[str, bool]:
        return {model: capacity is not None for model, capacity in self.capacities.items()}

    def note_change(self, model: str, backend: str, capacity: Capacity | None, cap: int) -> None:
        assert backend == "a"
        self.capacities[model], self.caps[model] = capacity, cap

    async def until(self, *, embedder: bool, whisper: bool) -> None:
        await until(lambda: self.is_in == {"embedder": embedder, "whisper": whisper})
