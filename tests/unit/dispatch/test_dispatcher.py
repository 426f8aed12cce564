"""Calls over several Tritons: where they go, and what a failure does."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest

from frontend.dispatch.backends import Inputs, Outputs
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.model_queue import Bounds, Turn
from frontend.dispatch.scheduler import Rules
from frontend.dispatch.shares import FixedShares
from frontend.errors import ApiError, BadGateway, BrokenModel, Unreached

MODELS = {"embedder": 2}


class FakeTriton:
    """Answers with its name; ``failure`` is raised instead, ``up`` is what probes see."""

    def __init__(self, name: str) -> None:
        self.name, self.up = name, True
        self.failure: ApiError | None = None
        self.going = asyncio.Event()
        self.going.set()
        self.calls = 0
        self.reloaded: list[str] = []
        self.seconds = 0.0

    async def infer(self, model: str, inputs: Inputs, outputs: Sequence[str], seconds: float) -> Outputs:
        self.calls += 1
        self.seconds = seconds
        await self.going.wait()
        if self.failure is not None:
            raise self.failure
        return {name: np.array([self.name]) for name in outputs}

    async def ready_models(self, models: Sequence[str]) -> set[str]:
        return set(models) if self.up else set()

    async def capacity(self, model: str) -> int:
        return 4

    async def reload(self, model: str) -> None:
        self.reloaded.append(model)


@pytest.fixture
def first() -> FakeTriton:
    return FakeTriton("first")


@pytest.fixture
def second() -> FakeTriton:
    return FakeTriton("second")


@pytest.fixture
async def dispatcher(first: FakeTriton, second: FakeTriton) -> AsyncIterator[Dispatcher]:
    made = Dispatcher(Rules(), Bounds(), FixedShares(1, {}))
    await made.add("first", first, MODELS)
    await made.add("second", second, MODELS)
    yield made
    await made.close()


def _turn(seconds: float = 10.0) -> Turn:
    return Turn("key", 3, None, asyncio.get_running_loop().time() + seconds)


async def _call(dispatcher: Dispatcher, seconds: float = 10.0) -> str:
    return str((await dispatcher.infer("embedder", dict, ["out"], _turn(seconds)))["out"][0])


async def test_calls_spread_over_all_backends(dispatcher: Dispatcher, first: FakeTriton, second: FakeTriton) -> None:
    first.going.clear()
    second.going.clear()
    calls = [asyncio.create_task(_call(dispatcher)) for _ in range(4)]
    await asyncio.sleep(0.01)
    assert (first.calls, second.calls) == (2, 2)
    first.going.set()
    second.going.set()
    await asyncio.gather(*calls)


async def test_a_call_that_never_arrived_is_answered_by_another(
    dispatcher: Dispatcher, first: FakeTriton, second: FakeTriton
) -> None:
    first.failure = Unreached("away")
    first.up = False
    assert {await _call(dispatcher) for _ in range(6)} == {"second"}
    assert first.calls <= 1


async def test_a_call_that_arrived_and_failed_is_not_sent_again(
    dispatcher: Dispatcher, first: FakeTriton, second: FakeTriton
) -> None:
    first.failure = second.failure = BadGateway("broke off")
    with pytest.raises(BadGateway, match="broke off"):
        await _call(dispatcher)
    assert first.calls + second.calls == 1


async def test_a_call_that_reaches_nobody_is_tried_twice_at_most(
    dispatcher: Dispatcher, first: FakeTriton, second: FakeTriton
) -> None:
    first.failure = second.failure = Unreached("away")
    with pytest.raises(BadGateway):
        await _call(dispatcher)
    assert first.calls + second.calls == 2


async def test_a_model_whose_process_died_is_loaded_anew(dispatcher: Dispatcher, first: FakeTriton) -> None:
    first.failure = BrokenModel("dead")
    with pytest.raises(BadGateway, match="dead"):
        await _call(dispatcher)
    await asyncio.sleep(0)
    assert first.reloaded == ["embedder"]


async def test_a_model_is_ready_while_any_backend_has_it(
    dispatcher: Dispatcher, first: FakeTriton, second: FakeTriton
) -> None:
    first.up = False
    await asyncio.sleep(0.5)
    assert dispatcher.ready(["embedder"])
    second.up = False
    await asyncio.sleep(0.5)
    assert not dispatcher.ready(["embedder"])


async def test_inputs_are_made_only_when_a_slot_was_given(
    dispatcher: Dispatcher, first: FakeTriton, second: FakeTriton
) -> None:
    first.going.clear()
    second.going.clear()
    made = 0

    def inputs() -> Inputs:
        nonlocal made
        made += 1
        return {}

    calls = [asyncio.create_task(dispatcher.infer("embedder", inputs, ["out"], _turn())) for _ in range(20)]
    await asyncio.sleep(0.01)
    assert made == 4
    first.going.set()
    second.going.set()
    await asyncio.gather(*calls)


async def test_a_call_has_only_the_time_that_the_queue_left(dispatcher: Dispatcher, first: FakeTriton) -> None:
    await _call(dispatcher, 3.0)
    assert 0 < first.seconds <= 3.0


async def test_slots_are_those_that_are_ours(first: FakeTriton) -> None:
    made = Dispatcher(Rules(), Bounds(), FixedShares(2, {}))
    await made.add("first", first, {"embedder": 0, "other": 1})
    first.going.clear()
    models = ["embedder", "other"] * 9
    calls = [asyncio.create_task(made.infer(model, dict, ["out"], _turn())) for model in models]
    await asyncio.sleep(0.01)
    assert first.calls == 2 + 1
    first.going.set()
    await asyncio.gather(*calls)
    await made.close()
