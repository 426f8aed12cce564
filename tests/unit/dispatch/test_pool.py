import asyncio
import threading

import pytest

from frontend.dispatch.model_queue import Bounds, ModelQueue, Turn
from frontend.dispatch.pool import Pool
from frontend.dispatch.scheduler import Rules
from frontend.processes.offload import Threads


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
