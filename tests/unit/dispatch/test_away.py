"""What a call meets where this frontend has no slots of its model."""

import asyncio

import pytest

from frontend.errors import BadGateway
from tests.unit.dispatch.queues import queue_of, turn


async def test_where_all_slots_are_other_frontends_a_call_waits_for_its_turn() -> None:
    queue = queue_of(0)
    queue.set_limit("a", 0)
    waiting = asyncio.create_task(queue.slot(turn()).__aenter__())
    await asyncio.sleep(0)
    assert not waiting.done()
    queue.set_limit("a", 1)
    async with asyncio.timeout(1):
        assert await waiting == "a"


async def test_where_every_backend_is_out_a_call_is_refused() -> None:
    queue = queue_of(1)
    queue.drop("a")
    with pytest.raises(BadGateway, match="unreachable"):
        await queue.slot(turn()).__aenter__()
