"""Calls over several Tritons: where they go, and what a failure does."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from prometheus_client import REGISTRY

from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.division import View
from frontend.dispatch.inference import Capacity, Inputs, Outputs, State, Trial
from frontend.dispatch.model_queue import Bounds, Turn
from frontend.dispatch.scheduler import Rules
from frontend.dispatch.shares import FixedShares
from frontend.dispatch.window import Work
from frontend.errors import ApiError, BadGateway, BrokenModel, Unreached
from tests.eventually import until

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

    async def ailing(self, models: Sequence[str]) -> set[str]:
        return set(models) if isinstance(self.failure, BrokenModel) and not self.reloaded else set()

    async def reload(self, model: str) -> None:
        self.reloaded.append(model)

    async def close(self) -> None:
        self.closed = True


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


@asynccontextmanager
async def _under_way(calls: Iterable[Coroutine[Any, Any, Any]], *servers: FakeTriton) -> AsyncIterator[None]:
    """Within it the servers that have been given these calls answer none."""
    for server in servers:
        server.going.clear()
    tasks = [asyncio.create_task(call) for call in calls]
    await asyncio.sleep(0.01)
    yield
    for server in servers:
        server.going.set()
    await asyncio.gather(*tasks)


def _turn(seconds: float = 10.0) -> Turn:
    return Turn("key", 3, None, asyncio.get_running_loop().time() + seconds)


async def _call(dispatcher: Dispatcher, seconds: float = 10.0) -> str:
    return str((await dispatcher.infer("embedder", dict, ["out"], _turn(seconds)))["out"][0])


async def test_calls_spread_over_all_backends(dispatcher: Dispatcher, first: FakeTriton, second: FakeTriton) -> None:
    async with _under_way((_call(dispatcher) for _ in range(4)), first, second):
        assert (first.calls, second.calls) == (2, 2)


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


async def test_the_state_of_a_model_is_the_best_that_any_backend_has(
    dispatcher: Dispatcher, first: FakeTriton, second: FakeTriton
) -> None:
    first.up = False
    async with asyncio.timeout(20):
        while {await _call(dispatcher) for _ in range(6)} != {"second"}:
            pass
    assert dispatcher.states(["embedder", "unknown"]) == {"embedder": State.READY, "unknown": State.AWAY}
    second.up = False
    await until(lambda: dispatcher.states(["embedder"]) == {"embedder": State.AWAY})


async def test_whether_a_model_is_ready_stands_in_a_metric(
    dispatcher: Dispatcher, first: FakeTriton, second: FakeTriton
) -> None:
    def value() -> float | None:
        return REGISTRY.get_sample_value("quartet_model_ready", {"model": "embedder"})

    assert value() == 1
    first.up = second.up = False
    await until(lambda: value() == 0)


async def test_inputs_are_made_for_a_given_slot(dispatcher: Dispatcher, first: FakeTriton, second: FakeTriton) -> None:
    made: list[Inputs] = []

    def inputs() -> Inputs:
        made.append({})
        return {}

    calls = (dispatcher.infer("embedder", inputs, ["out"], _turn()) for _ in range(20))
    async with _under_way(calls, first, second):
        assert len(made) == 4


async def test_a_call_has_only_the_time_that_the_queue_left(dispatcher: Dispatcher, first: FakeTriton) -> None:
    await _call(dispatcher, 3.0)
    assert 0 < first.seconds <= 3.0


async def test_slots_are_those_that_are_ours(first: FakeTriton) -> None:
    made = Dispatcher(Rules(), Bounds(), FixedShares(2, {}))
    await made.add("first", first, {"embedder": 0, "other": 1})
    models = ["embedder", "other"] * 9
    async with _under_way((made.infer(model, dict, ["out"], _turn()) for model in models), first):
        assert first.calls == 2 + 1
    await made.close()


async def _two_lanes(server: FakeTriton, *, stops: bool = False) -> Dispatcher:
    server.takes = Capacity(64, lanes=2, stops=stops)
    made = Dispatcher(Rules(), Bounds(), FixedShares(1, {}))
    made.declare("embedder", Work(100, 1000, divisible=True))
    await made.add("first", server, {"embedder": 0})
    return made


async def test_a_call_much_longer_than_a_piece_leaves_a_lane_to_the_others(first: FakeTriton) -> None:
    made = await _two_lanes(first)
    async with _under_way((made.infer("embedder", dict, ["out"], _turn(), 5000) for _ in range(3)), first):
        assert first.calls == 1
        async with _under_way([made.infer("embedder", dict, ["out"], _turn(), 3)], first):
            assert first.calls == 2
    await made.close()


@pytest.mark.parametrize(("stops", "ended"), [(True, 1), (False, 0)])
async def test_an_abandoned_call_is_cancelled_where_that_stops_it(first: FakeTriton, stops: bool, ended: int) -> None:
    made = await _two_lanes(first, stops=stops)
    first.going.clear()
    call = asyncio.create_task(made.infer("embedder", dict, ["out"], _turn(), 3))
    await asyncio.sleep(0.01)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await asyncio.sleep(0.01)
    assert first.ended == ended
    assert made.demand("embedder").calls == 1 - ended
    await made.close()


async def test_a_call_whose_triton_is_removed_before_it_begins_is_answered_by_another(
    dispatcher: Dispatcher, first: FakeTriton, second: FakeTriton
) -> None:
    calls = [asyncio.create_task(_call(dispatcher)) for _ in range(4)]
    await asyncio.sleep(0)
    await dispatcher.remove("first")
    assert set(await asyncio.gather(*calls)) == {"second"}
    assert first.closed
    assert not first.calls


async def test_a_model_is_ready_where_all_its_slots_are_other_frontends(first: FakeTriton) -> None:
    class NoShares(FixedShares):
        def own(self, model: str, view: View) -> dict[str, int]:
            return {}

    made = Dispatcher(Rules(), Bounds(), NoShares(1, {}))
    await made.add("first", first, MODELS)
    assert made.states(["embedder"]) == {"embedder": State.READY}
    with pytest.raises(BadGateway, match="too busy"):
        await _call(made, 0.05)
    await made.close()


async def test_long_calls_count_as_what_a_model_wants(first: FakeTriton) -> None:
    made = await _two_lanes(first)
    async with _under_way((made.infer("embedder", dict, ["out"], _turn(), cost) for cost in (3, 5000)), first):
        assert made.tells()["embedder"][0].calls == 2
    await made.close()
