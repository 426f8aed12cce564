import asyncio
import os
import threading
import time

import pytest

from frontend.dispatch.model_queue import Bounds, ModelQueue, Turn
from frontend.dispatch.pool import Pool
from frontend.dispatch.scheduler import Rules
from frontend.processes.offload import Offload, TaskKilledError, Threads
from tests.eventually import until
from tests.samples import Change, value

_REASONS = ("late", "died", "hung_up")


async def test_a_thread_whose_caller_has_gone_keeps_its_slot_until_it_ends() -> None:
    queue, goes_on = ModelQueue("threads", Rules(), Bounds()), threading.Event()
    queue.set_limit("threads", 1)
    pool = Pool(queue, Threads(1))
    turn = Turn("k", 3, None, asyncio.get_running_loop().time() + 60)
    gone = asyncio.create_task(pool.run(turn, goes_on.wait))
    await asyncio.sleep(0.05)
    gone.cancel()
    next_one = asyncio.create_task(pool.run(turn, lambda: "done"))
    await asyncio.sleep(1.3)
    assert queue.demand.calls == 2
    goes_on.set()
    assert await next_one == "done"
    with pytest.raises(asyncio.CancelledError):
        await gone
    await pool.close()


def _overrun() -> None:
    time.sleep(60)


def _die() -> None:
    os._exit(3)


async def test_processes_that_are_ended_with_their_task_are_counted() -> None:
    queue = ModelQueue("counted", Rules(), Bounds())
    queue.set_limit("counted", 1)
    pool = Pool(queue, Offload(1, tasks=100, seconds=1.0))
    killed = {name: Change("quartet_workers_killed_total", pool="counted", reason=name) for name in _REASONS}
    turn = Turn("k", 3, None, asyncio.get_running_loop().time() + 60)
    with pytest.raises(TaskKilledError):
        await pool.run(turn, _overrun)
    with pytest.raises(TaskKilledError):
        await pool.run(turn, _die)
    assert await pool.run(turn, abs, -1) == 1
    assert {name: change.by for name, change in killed.items()} == {"late": 1, "died": 1, "hung_up": 0}
    gone = asyncio.create_task(pool.run(turn, _overrun))
    await until(
        lambda: value("quartet_calls_running", pool="counted", model="counted", queue="usual", tier="free") == 1
    )
    gone.cancel()
    await until(lambda: killed["hung_up"].by == 1)
    await pool.close()
