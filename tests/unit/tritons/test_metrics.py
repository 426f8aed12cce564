"""The metrics of queues and Tritons."""

import numpy as np
import pytest

from frontend.dispatch.batch_size import Work
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.queue import Bounds
from frontend.dispatch.scheduler import Rules
from frontend.errors import Busy
from frontend.peers.frontends import FixedFrontends
from tests.eventually import until
from tests.fakes import FakeTriton
from tests.samples import Change, total
from tests.unit.dispatch.queues import asking, queue_of, waiting

_MODEL = "m3_embedder"


def _waits(tier: str) -> float:
    return total("quartet_queue_waiting", model="m", tier=tier)


async def test_waiting_calls_are_counted_by_tier_and_calls_in_flight_by_pool() -> None:
    queue = queue_of()
    granted = Change("quartet_queue_seconds_count", model="m", tier="free")
    async with waiting(queue, asking("a", 1), asking("b", 3), asking("c", 3)):
        assert (_waits("company"), _waits("pro"), _waits("free")) == (1, 0, 2)
        assert total("quartet_in_flight", pool="a", model="m") == 1
        assert granted.by == 1
    assert (_waits("company"), _waits("pro"), _waits("free")) == (0, 0, 0)
    assert total("quartet_in_flight", pool="a", model="m") == 0


async def test_a_refused_call_is_counted_by_its_reason() -> None:
    refused = {reason: Change("quartet_queue_refused_total", model="m", reason=reason) for reason in ("full", "away")}
    with pytest.raises(Busy):
        async with queue_of(places=0).slot(asking()):
            pass
    queue = queue_of(bounds=Bounds(key=1))
    async with waiting(queue, asking()):
        with pytest.raises(Busy):
            await queue.slot(asking()).__aenter__()
    assert {reason: change.by for reason, change in refused.items()} == {"full": 1, "away": 1}


async def test_the_tritons_and_bounds_of_a_pool_are_summed_until_they_leave() -> None:
    labels = {"pool": "summed", "model": _MODEL}
    dispatcher, server = Dispatcher(Rules(), Bounds(), FixedFrontends(1)), FakeTriton()
    await dispatcher.add("summed", server, {_MODEL: 4})
    await until(lambda: total("quartet_in_flight_bound", **labels) == 4)
    assert (total("quartet_backends", pool="summed"), total("quartet_backends_up", pool="summed")) == (1, 1)
    server.up = False
    await until(lambda: total("quartet_in_flight_bound", **labels) == 0)
    server.up = True
    await until(lambda: total("quartet_in_flight_bound", **labels) == 4)
    await dispatcher.close()
    assert total("quartet_in_flight_bound", **labels) == 0
    assert (total("quartet_backends", pool="summed"), total("quartet_backends_up", pool="summed")) == (0, 0)


async def test_the_fill_of_a_call_is_its_work_divided_by_the_batch_work() -> None:
    dispatcher, server = Dispatcher(Rules(), Bounds(), FixedFrontends(1)), FakeTriton()
    dispatcher.register_model(_MODEL, Work(512, 16384, divisible=True))
    await dispatcher.add("filled", server, {_MODEL: 4})
    summed, counted = (Change(f"quartet_batch_fill_ratio_{name}", model=_MODEL) for name in ("sum", "count"))
    inputs = {"lengths": np.array([[128]], np.int32), "input_ids": np.zeros((1, 128), np.int32)}
    for cost in (128.0, 256.0):
        await dispatcher.infer(_MODEL, lambda: inputs, ["embedding"], asking(), cost)
    assert (summed.by, counted.by) == (0.75, 2)
    await dispatcher.close()
