"""Queues with one backend, and calls that wait in them."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from frontend.dispatch.model_queue import Bounds, ModelQueue, Turn
from frontend.dispatch.scheduler import Rules


def turn(key: str = "k", tier: int = 3, seconds: float = 60.0, owner: str | None = None) -> Turn:
    return Turn(key, tier, owner, asyncio.get_running_loop().time() + seconds)


def queue_of(
    slots: int = 1, bounds: Bounds | None = None, rules: Rules | None = None, floors: Mapping[str, int] | None = None
) -> ModelQueue:
    """One whose only backend has so many slots, or is out where they are 0."""
    queue = ModelQueue("m", rules or Rules(), bounds or Bounds(), floors)
    if slots:
        queue.set_limit("a", slots)
    return queue


@asynccontextmanager
async def waiting(queue: ModelQueue, *turns: Turn) -> AsyncIterator[None]:
    """Within it the one slot is taken, and so many calls wait; they leave as the slot comes free."""
    async with queue.slot(turn()):
        calls = [asyncio.create_task(queue.slot(each).__aenter__()) for each in turns]
        await asyncio.sleep(0)
        assert not any(call.done() for call in calls)
        yield
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
