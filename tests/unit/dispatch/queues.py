"""Queues with one backend, and waiting calls."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial

from frontend.dispatch.admission import Admission, ModelCalls
from frontend.dispatch.context import RequestContext
from frontend.dispatch.queue import Bounds, ModelQueue
from frontend.dispatch.scheduler import Rules
from frontend.dispatch.sender import Sender
from frontend.tritons.inference import Capacity


def asking(key: str = "k", priority: int = 3, seconds: float = 60.0, owner: str | None = None) -> RequestContext:
    """A request context with a deadline in ``seconds``."""
    return RequestContext(key, priority, owner, asyncio.get_running_loop().time() + seconds)


class Queue(ModelQueue):
    """A queue whose backends the test sets. Each call is one execution."""

    def __init__(self, rules: Rules, bounds: Bounds, floors: Mapping[str, int]) -> None:
        self.admission = Admission(rules)
        self.calls = self.admission.models["m"] = ModelCalls("m", rules, floors)
        self.sender = Sender(self.admission)
        enter, leave = partial(self.sender.enter, self.calls), partial(self.sender.leave, self.calls)
        super().__init__(self.calls, enter, leave, bounds)

    def set_places(self, backend: str, places: int) -> None:
        """Set the slots of a backend; 0 means that it takes no calls."""
        load = self.admission.triton(backend, ["m"]).models["m"]
        load.takes_calls, load.cap, load.capacity = places > 0, places, Capacity(max(1, places), gpu=True)
        self.calls.configure()
        self.sender.send()

    @property
    def in_flight(self) -> int:
        return self.calls.scheduler.in_flight


def queue_of(
    places: int = 1, bounds: Bounds | None = None, rules: Rules | None = None, floors: Mapping[str, int] | None = None
) -> Queue:
    """A queue with one backend of ``places`` slots."""
    queue = Queue(rules or Rules(), bounds or Bounds(), floors or {})
    queue.set_places("a", places)
    return queue


@asynccontextmanager
async def waiting(queue: ModelQueue, *contexts: RequestContext) -> AsyncIterator[None]:
    """Occupy the only slot, and let calls wait within the block."""
    async with queue.slot(asking()):
        calls = [asyncio.create_task(queue.slot(each).__aenter__()) for each in contexts]
        await asyncio.sleep(0)
        assert not any(call.done() for call in calls)
        yield
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
