"""Calls over several Tritons, and failures."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from prometheus_client import REGISTRY

from frontend.dispatch.batch_size import Work
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.queue import Bounds
from frontend.dispatch.scheduler import Rules
from frontend.errors import BadGateway, Unreached
from frontend.peers.frontends import FixedFrontends
from frontend.tritons.inference import Capacity, Inputs, State
from tests.eventually import until
from tests.unit.dispatch.servers import FakeTriton

MODELS = {"embedder": 2}


@pytest.fixture
def first() -> FakeTriton:
    return FakeTriton("first")


@pytest.fixture
def second() -> FakeTriton:
    return FakeTriton("second")


@pytest.fixture
async def dispatcher(first: FakeTriton, second: FakeTriton) -> AsyncIterator[Dispatcher]:
    made = Dispatcher(Rules(), Bounds(), FixedFrontends(1))
    await made.add("first", first, MODELS)
    await made.add("second", second, MODELS)
    yield made
    await made.close()


@asynccontextmanager
async def _under_way(calls: Iterable[Coroutine[Any, Any, Any]], *servers: FakeTriton) -> AsyncIterator[None]:
    """Start calls, and let the servers answer none of them within the block."""
    for server in servers:
        server.going.clear()
    tasks = [asyncio.create_task(call) for call in calls]
    await asyncio.sleep(0.01)
    yield
    for server in servers:
        server.going.set()
    await asyncio.gather(*tasks)


def _asking(seconds: float = 10.0, priority: int = 3) -> RequestContext:
    return RequestContext("key", priority, None, asyncio.get_running_loop().time() + seconds)


async def _call(dispatcher: Dispatcher, seconds: float = 10.0) -> str:
    return str((await dispatcher.infer("embedder", dict, ["out"], _asking(seconds)))["out"][0])


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


async def test_an_unreached_call_is_tried_at_most_twice(
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


async def test_readiness_of_a_model_is_in_a_metric(
    dispatcher: Dispatcher, first: FakeTriton, second: FakeTriton
) -> None:
    def value() -> float | None:
        return REGISTRY.get_sample_value("quartet_model_ready", {"model": "embedder"})

    assert value() == 1
    first.up = second.up = False
    await until(lambda: value() == 0)


async def test_inputs_are_made_when_a_call_is_sent(
    dispatcher: Dispatcher, first: FakeTriton, second: FakeTriton
) -> None:
    made: list[Inputs] = []

    def inputs() -> Inputs:
        made.append({})
        return {}

    calls = (dispatcher.infer("embedder", inputs, ["out"], _asking()) for _ in range(20))
    async with _under_way(calls, first, second):
        assert len(made) == 4


async def test_a_call_has_only_the_time_that_the_queue_left(dispatcher: Dispatcher, first: FakeTriton) -> None:
    await _call(dispatcher, 3.0)
    assert 0 < first.seconds <= 3.0


async def test_a_cap_is_divided_among_the_frontends_and_each_has_one_call(first: FakeTriton) -> None:
    made = Dispatcher(Rules(), Bounds(), FixedFrontends(2))
    await made.add("first", first, {"embedder": 4, "other": 1})
    models = ["embedder", "other"] * 9
    async with _under_way((made.infer(model, dict, ["out"], _asking()) for model in models), first):
        assert first.calls == 2 + 1
    await made.close()


async def test_a_local_queue_has_as_many_calls_as_workers() -> None:
    made = Dispatcher(Rules(), Bounds(), FixedFrontends(1))
    queue = made.add_local_queue("threads", 4)
    # However short their calls are.
    await queue.run(_asking(), lambda name: asyncio.sleep(0))
    contexts = [RequestContext(key, tier, None, _asking().deadline) for key in "abc" for tier in (3, 3, 1)]
    calls = [asyncio.create_task(queue.slot(context).__aenter__()) for context in contexts]
    await asyncio.sleep(0)
    assert sum(call.done() for call in calls) == 4
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


async def _two_instances(server: FakeTriton, *, stops: bool = False) -> Dispatcher:
    server.takes = Capacity(2, 16, stops=stops)
    made = Dispatcher(Rules(), Bounds(), FixedFrontends(1))
    made.register_model("embedder", Work(100, 1000, divisible=True))
    await made.add("first", server, {"embedder": 0})
    return made


@pytest.mark.parametrize(("stops", "ended"), [(True, 1), (False, 0)])
async def test_an_abandoned_call_is_cancelled_where_that_stops_it(first: FakeTriton, stops: bool, ended: int) -> None:
    made = await _two_instances(first, stops=stops)
    first.going.clear()
    call = asyncio.create_task(made.infer("embedder", dict, ["out"], _asking(), 3))
    await asyncio.sleep(0.01)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await asyncio.sleep(0.01)
    assert first.ended == ended
    assert made.queue("embedder").demand == 1 - ended
    await made.close()


async def test_a_call_whose_triton_was_removed_goes_to_another(
    dispatcher: Dispatcher, first: FakeTriton, second: FakeTriton
) -> None:
    calls = [asyncio.create_task(_call(dispatcher)) for _ in range(4)]
    await asyncio.sleep(0)
    await dispatcher.remove("first")
    assert set(await asyncio.gather(*calls)) == {"second"}
    assert first.closed
    assert not first.calls
    assert dispatcher._admission.tritons.keys() == {"second"}


async def test_demand_counts_calls_of_any_length(first: FakeTriton) -> None:
    made = await _two_instances(first)
    async with _under_way((made.infer("embedder", dict, ["out"], _asking(), cost) for cost in (3, 5000)), first):
        assert made.queue("embedder").demand == 2
    await made.close()


async def test_the_snapshot_has_the_models_in_use(
    dispatcher: Dispatcher, first: FakeTriton, second: FakeTriton
) -> None:
    assert dispatcher.snapshot() == {}
    async with _under_way([_call(dispatcher)], first, second):
        # No size was measured yet.
        assert dispatcher.snapshot() == {"embedder": 0.0}
    # It was used a moment ago.
    assert dispatcher.snapshot() == {"embedder": 0.0}


async def test_a_model_that_was_not_declared_has_no_queue(dispatcher: Dispatcher) -> None:
    with pytest.raises(KeyError):
        dispatcher.queue("unknown")


async def test_a_triton_can_leave_twice_before_its_calls_end(first: FakeTriton) -> None:
    made = Dispatcher(Rules(), Bounds(), FixedFrontends(1))
    await made.add("first", first, MODELS)
    async with _under_way([_call(made)], first):
        leaving = asyncio.create_task(made.remove("first"))
        await asyncio.sleep(0)
        await made.add("first", FakeTriton("again"), MODELS)
        await made.remove("first")
    await leaving
    await made.close()
