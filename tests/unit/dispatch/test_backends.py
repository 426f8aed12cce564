"""When a Triton and its models are in and out, by what a server that tests control says."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence

import pytest

from frontend.dispatch.backends import Backend, Capacity, Inputs, Outputs
from frontend.errors import BadGateway


class FakeServer:
    """``up`` are the models that are ready; a frozen server answers nothing, one that is away refuses."""

    def __init__(self) -> None:
        self.up = {"embedder", "whisper"}
        self.frozen = self.away = False
        self.reloaded: list[str] = []
        self.may_reload = asyncio.Event()

    async def ready_models(self, models: Sequence[str]) -> set[str]:
        if self.frozen:
            await asyncio.Event().wait()
        if self.away:
            raise BadGateway("away")
        return self.up & set(models)

    async def infer(self, model: str, inputs: Inputs, outputs: Sequence[str], seconds: float) -> Outputs:
        raise NotImplementedError

    async def capacity(self, model: str) -> Capacity:
        return {"embedder": Capacity(64, lanes=2), "whisper": Capacity(16, stops=True)}[model]

    async def reload(self, model: str) -> None:
        await self.may_reload.wait()
        self.reloaded.append(model)


class Heard:
    """The slots by model, as they were told last."""

    def __init__(self) -> None:
        self.slots: dict[str, int] = {}
        self.lanes: dict[str, int] = {}
        self._changed = asyncio.Event()

    def __call__(self, model: str, backend: str, slots: int, lanes: int) -> None:
        assert backend == "a"
        self.slots[model], self.lanes[model] = slots, lanes
        self._changed.set()

    async def within_a_second(self, slots: dict[str, int]) -> None:
        async with asyncio.timeout(1):
            while self.slots != slots:
                self._changed.clear()
                await self._changed.wait()


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def backend(server: FakeServer, heard: Heard) -> AsyncIterator[Backend]:
    made = Backend("a", server, {"embedder": 0, "whisper": 3}, heard, lambda model, slots: slots)
    await made.start()
    yield made
    await made.close()


async def test_slots_are_those_that_were_set_or_what_fills_two_batches(backend: Backend, heard: Heard) -> None:
    assert heard.slots == {"embedder": 64, "whisper": 3}


async def test_the_lanes_of_a_model_are_told_with_its_slots(backend: Backend, heard: Heard) -> None:
    assert heard.lanes == {"embedder": 2, "whisper": 1}


async def test_only_a_model_that_stops_has_its_calls_cancelled(backend: Backend) -> None:
    assert (backend.grace("embedder"), backend.grace("whisper")) == (math.inf, 0)


async def test_a_model_that_is_gone_is_out_within_a_second(backend: Backend, server: FakeServer, heard: Heard) -> None:
    server.up.discard("whisper")
    await heard.within_a_second({"embedder": 64, "whisper": 0})


@pytest.mark.parametrize("fault", ["frozen", "away"])
async def test_a_server_that_fails_is_out_within_a_second_and_back_when_it_answers(
    backend: Backend, server: FakeServer, heard: Heard, fault: str
) -> None:
    setattr(server, fault, True)
    await heard.within_a_second({"embedder": 0, "whisper": 0})
    setattr(server, fault, False)
    await heard.within_a_second({"embedder": 64, "whisper": 3})


async def test_a_call_that_never_arrived_takes_the_server_out_and_a_probe_puts_it_back(
    backend: Backend, heard: Heard
) -> None:
    backend.out()
    assert heard.slots == {"embedder": 0, "whisper": 0}
    await heard.within_a_second({"embedder": 64, "whisper": 3})


async def test_a_model_whose_process_died_is_loaded_anew_once_and_stays_out_until_then(
    backend: Backend, server: FakeServer, heard: Heard
) -> None:
    backend.broken("whisper")
    backend.broken("whisper")
    await asyncio.sleep(0.6)
    assert heard.slots["whisper"] == 0
    server.may_reload.set()
    await heard.within_a_second({"embedder": 64, "whisper": 3})
    assert server.reloaded == ["whisper"]
