"""Work beside the event loop."""

import asyncio
import threading

import pytest

from frontend.dispatch.pool import Pool
from frontend.processes.offload import Threads
from tests.unit.dispatch.queues import asking, queue_of


async def test_a_thread_whose_caller_has_gone_keeps_its_place_until_it_ends() -> None:
    queue, goes_on = queue_of(1), threading.Event()
    pool = Pool(queue, Threads(1))
    gone = asyncio.create_task(pool.run(asking(), goes_on.wait))
    await asyncio.sleep(0.05)
    gone.cancel()
    next_one = asyncio.create_task(pool.run(asking(), lambda: "done"))
    await asyncio.sleep(1.3)
    assert (queue.in_flight, queue.its.scheduler.waits) == (1, 1)
    goes_on.set()
    assert await next_one == "done"
    with pytest.raises(asyncio.CancelledError):
        await gone
    await pool.close()
