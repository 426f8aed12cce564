"""The queue of one model on the event loop: the scheduler decides, futures wait, nothing polls."""

import asyncio
import math
from collections.abc import AsyncIterator, Hashable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from frontend.dispatch.scheduler import Rules, Scheduler, Ticket
from frontend.dispatch.shares import Demand
from frontend.errors import BadGateway
from frontend.observe import QUEUE_REFUSED, QUEUE_SECONDS, QUEUE_WAITING

_REFUSALS = {
    "full": "too many calls are waiting for the model, retry later",
    "away": "the model backend is temporarily unreachable, retry with backoff",
    "late": "the model is too busy to answer in time, retry later",
}
_LONGEST_RETRY = 300


@dataclass(frozen=True)
class Bounds:
    """How many tickets may wait: of one key, and of one tier, so that a flood of one leaves room for the others."""

    key: int = 256
    tier: int = 4096


@dataclass(frozen=True)
class Turn:
    """Whose call it is: a key of a tier; ``owner`` may have a floor; ``deadline`` is in the event loop's time."""

    key: Hashable
    tier: int
    owner: str | None
    deadline: float

    def remaining(self) -> float:
        """Seconds until the deadline, at least a moment."""
        return max(0.001, self.deadline - asyncio.get_running_loop().time())


class ModelQueue:
    """Made inside the event loop that uses it."""

    def __init__(self, model: str, rules: Rules, bounds: Bounds, floors: Mapping[str, int] | None = None) -> None:
        self._model, self._scheduler = model, Scheduler(rules, floors)
        self._bounds = bounds
        self._loop = asyncio.get_running_loop()
        self._granted: dict[Ticket, asyncio.Future[None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    @property
    def demand(self) -> Demand:
        """What waits or runs."""
        return Demand(len(self._granted), self._scheduler.demand_of_owners())

    def set_floors(self, floors: Mapping[str, int]) -> None:
        """How much of each owner's floor is kept here."""
        self._scheduler.set_floors(floors)
        self._pump()

    def set_limit(self, backend: str, limit: int) -> None:
        """How many calls of this model a backend may have at once; none while it is out."""
        self._scheduler.set_limit(backend, limit)
        self._pump()

    @asynccontextmanager
    async def slot(self, turn: Turn) -> AsyncIterator[str]:
        """Wait for a slot, hold it, and give the name of the backend that it is on.

        ``BadGateway`` at once where the queue is full or the wait would be longer than the deadline, and at the
        deadline; its ``Retry-After`` is the wait that is expected now.
        """
        self._refuse(turn)
        ticket = Ticket(turn.key, turn.tier, turn.owner, self._loop.time())
        granted = self._granted[ticket] = self._loop.create_future()
        self._scheduler.enter(ticket, ticket.arrived)
        try:
            self._pump()
            if not granted.done():
                await self._until(granted, turn)
            QUEUE_SECONDS.labels(self._model, turn.tier).observe(ticket.granted - ticket.arrived)
            yield ticket.backend
        finally:
            # A grant and a cancellation can meet in one turn of the loop: the scheduler knows which was first.
            del self._granted[ticket]
            self._scheduler.leave(ticket, self._loop.time())
            self._pump()

    async def _until(self, granted: "asyncio.Future[None]", turn: Turn) -> None:
        try:
            async with asyncio.timeout_at(turn.deadline):
                await granted
        except TimeoutError:
            raise self._refusal("late", turn) from None

    def _refuse(self, turn: Turn) -> None:
        scheduler, bounds = self._scheduler, self._bounds
        if not scheduler.slots:
            raise self._refusal("away", turn)
        if scheduler.waiting_of(turn.key) >= bounds.key or scheduler.waiting(turn.tier) >= bounds.tier:
            raise self._refusal("full", turn)
        if self._loop.time() + scheduler.expected_wait(turn.tier) > turn.deadline:
            raise self._refusal("late", turn)

    def _refusal(self, reason: str, turn: Turn) -> BadGateway:
        QUEUE_REFUSED.labels(self._model, reason).inc()
        wait = self._scheduler.expected_wait(turn.tier) if self._scheduler.slots else 0.0
        return BadGateway(_REFUSALS[reason], retry_after=max(1, min(math.ceil(wait), _LONGEST_RETRY)))

    def _pump(self) -> None:
        now = self._loop.time()
        while (ticket := self._scheduler.grant(now)) is not None:
            granted = self._granted[ticket]
            if not granted.done():
                granted.set_result(None)
        QUEUE_WAITING.labels(self._model).set(self._scheduler.waiting())
        self._wake_later(now)

    def _wake_later(self, now: float) -> None:
        """Held slots come free by the mere passing of time."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._scheduler.waiting() and (when := self._scheduler.next_change(now)) is not None:
            self._timer = self._loop.call_at(when, self._pump)
