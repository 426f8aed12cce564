"""One queue on the event loop: the scheduler decides, futures wait, nothing polls."""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from frontend.config.tables import LEVELS
from frontend.dispatch.scheduler import Rules, Scheduler
from frontend.dispatch.shares import Demand
from frontend.dispatch.shown import calls_running
from frontend.dispatch.slots import Nearness
from frontend.dispatch.spare import Spare
from frontend.dispatch.turns import Ticket
from frontend.dispatch.window import CongestionWindow
from frontend.errors import Busy
from frontend.observe.metrics import QUEUE_PIECE, QUEUE_REFUSED, QUEUE_SECONDS, QUEUE_WAITING
from frontend.observe.record import current
from frontend.processes.background import cancel_all, forget_outcome

_REFUSALS = {
    "full": "too many calls are waiting for the model, retry later",
    "away": "the model backend is temporarily unreachable, retry with backoff",
    "late": "the model is too busy to answer in time, retry later",
}
_LONGEST_RETRY = 300
_TIERS: Mapping[int, str] = {level: tier for tier, level in LEVELS.items()}


@dataclass(frozen=True)
class Bounds:
    """How many tickets may wait: of one key, and of one tier, so that a flood of one leaves room for the others."""

    key: int = 256
    tier: int = 4096


@dataclass
class Turn:
    """Whose call it is: a key of a tier; ``owner`` may have a floor; ``deadline`` is in the event loop's time.

    Of a key's calls those of the lowest ``rank`` go first.
    """

    key: Hashable
    tier: int
    owner: str | None
    deadline: float
    rank: int = 0

    def restart(self, seconds: float) -> None:
        """So many seconds from here on."""
        self.deadline = asyncio.get_running_loop().time() + seconds

    def extend(self, seconds: float) -> None:
        """So many seconds more."""
        self.deadline += seconds

    def remaining(self) -> float:
        """Seconds until the deadline, at least a moment."""
        return max(0.001, self.deadline - asyncio.get_running_loop().time())


Answer = TypeVar("Answer")


class ModelQueue:
    """Made inside the event loop that uses it. ``window`` says how much work a call should have at most.

    ``kind`` tells it from another queue of the same model; ``spare`` is what all of them leave to bulk work.
    """

    def __init__(
        self,
        model: str,
        rules: Rules,
        bounds: Bounds,
        floors: Mapping[str, int] | None = None,
        window: CongestionWindow | None = None,
        kind: str = "usual",
        spare: Spare | None = None,
    ) -> None:
        self.model, self._kind, self._scheduler = model, kind, Scheduler(rules, floors, spare)
        self._bounds, self._window = bounds, window
        self._loop = asyncio.get_running_loop()
        self._granted: dict[Ticket, asyncio.Future[None]] = {}
        self._tasks: set[asyncio.Task[object]] = set()
        self._timer: asyncio.TimerHandle | None = None
        for reason in _REFUSALS:
            QUEUE_REFUSED.labels(model, reason)
        self._waiting = {level: QUEUE_WAITING.labels(model, kind, tier) for level, tier in _TIERS.items()}

    async def close(self) -> None:
        """End what callers have left to end by itself."""
        await cancel_all(list(self._tasks))

    @property
    def demand(self) -> Demand:
        """What waits or runs, but for bulk work."""
        scheduler = self._scheduler
        return Demand(scheduler.others, scheduler.demand_of_owners(), scheduler.is_used(self._loop.time()))

    @property
    def is_quiet(self) -> bool:
        """Whether nothing of rank 0 waits or runs, nor has lately."""
        return self._scheduler.is_quiet(self._loop.time())

    def set_floors(self, floors: Mapping[str, int]) -> None:
        """How much of each owner's floor is kept here."""
        self._scheduler.set_floors(floors)
        self._pump()

    def set_limit(self, backend: str, limit: int, lanes: int = 1, nearness: Nearness = Nearness.NEAR) -> None:
        """How many calls a backend that is in may have at once; it works on ``lanes`` side by side."""
        self._scheduler.set_limit(backend, limit, lanes, nearness)
        self._pump()

    def drop(self, backend: str) -> None:
        """A backend is out; the calls that it has go on."""
        self._scheduler.drop(backend)
        self._pump()

    @asynccontextmanager
    async def slot(self, turn: Turn) -> AsyncIterator[str]:
        """Wait for a slot, hold it, and give the name of the backend that it is on.

        ``Busy`` at once where the queue is full or the wait would be longer than the deadline, and at the
        deadline; its ``Retry-After`` is the wait that is expected now.
        """
        ticket = await self._enter(turn, 1.0)
        try:
            yield ticket.backend
        finally:
            self._leave(ticket)

    def refuse_away(self, turn: Turn) -> None:
        """``Busy`` where no backend takes calls."""
        if not self._scheduler.is_open:
            raise self._refusal("away", turn)

    def refuse_late(self, turn: Turn, work: float, at_once: int) -> None:
        """``Busy`` where so much work, in calls ``at_once`` side by side, would not be done by the deadline.

        It is told from the calls of the last minute, and from what waits now.
        """
        if self._window is None or not self._scheduler.slots:
            return
        now = self._loop.time()
        takes = self._window.seconds_for(work, now) / min(at_once, self._scheduler.slots)
        if takes and now + self._scheduler.expected_wait(turn.tier) + takes > turn.deadline:
            refusal = f"this would take about {takes:.0f} s of work and has {turn.remaining():.0f} s, retry later"
            raise self._refusal("late", turn, f"the model is too busy: {refusal}")

    async def run(
        self,
        turn: Turn,
        work: Callable[[str], Awaitable[Answer]],
        *,
        cost: float = 1.0,
        grace: Callable[[str], float] = lambda backend: math.inf,
    ) -> Answer:
        """Wait for a slot as above and do ``work``, which is told the backend.

        The slot is held until the work has ended. Where its caller goes before, it has ``grace`` (of that backend)
        seconds more and is then cancelled: whoever hangs up cannot make a backend look free that is not.
        """
        ticket = await self._enter(turn, cost)
        task = asyncio.ensure_future(self._work(ticket, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                task.add_done_callback(forget_outcome)
                if (seconds := grace(ticket.backend)) < math.inf:
                    self._loop.call_later(seconds, task.cancel)
            raise

    async def _work(self, ticket: Ticket, work: Callable[[str], Awaitable[Answer]]) -> Answer:
        try:
            answer = await work(ticket.backend)
            if self._window is not None:
                self._window.note(ticket.cost, ticket.granted, self._loop.time())
            return answer
        finally:
            self._leave(ticket)

    async def _enter(self, turn: Turn, cost: float) -> Ticket:
        self._refuse(turn)
        ticket = Ticket(turn.key, turn.tier, turn.owner, self._loop.time(), cost, turn.rank)
        granted = self._granted[ticket] = self._loop.create_future()
        self._scheduler.enter(ticket, ticket.arrived)
        try:
            self._pump()
            with current().queue, current().tracer.span("queue"):
                if not granted.done():
                    await self._until(granted, turn)
        except BaseException:
            # A grant and a cancellation can meet in one turn of the loop: the scheduler knows which was first.
            self._leave(ticket)
            raise
        QUEUE_SECONDS.labels(self.model, _TIERS[turn.tier]).observe(ticket.granted - ticket.arrived)
        return ticket

    def _leave(self, ticket: Ticket) -> None:
        del self._granted[ticket]
        if ticket.backend:
            calls_running(ticket.backend, self.model, self._kind, _TIERS[ticket.tier]).dec()
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
        self.refuse_away(turn)
        if scheduler.waiting_of(turn.key) >= bounds.key or scheduler.waiting(turn.tier) >= bounds.tier:
            raise self._refusal("full", turn)
        if self._loop.time() + scheduler.expected_wait(turn.tier) > turn.deadline:
            raise self._refusal("late", turn)

    def _refusal(self, reason: str, turn: Turn, message: str | None = None) -> Busy:
        QUEUE_REFUSED.labels(self.model, reason).inc()
        wait = self._scheduler.expected_wait(turn.tier) if self._scheduler.is_open else 0.0
        return Busy(message or _REFUSALS[reason], retry_after=max(1, min(math.ceil(wait), _LONGEST_RETRY)))

    def _pump(self) -> None:
        now = self._loop.time()
        if self._window is not None:
            self._scheduler.piece = self._window.piece
        while (ticket := self._scheduler.grant(now)) is not None:
            calls_running(ticket.backend, self.model, self._kind, _TIERS[ticket.tier]).inc()
            granted = self._granted[ticket]
            if not granted.done():
                granted.set_result(None)
        self._show()
        self._wake_later(now)

    def _show(self) -> None:
        for level, waiting in self._waiting.items():
            waiting.set(self._scheduler.waiting(level))
        if self._window is not None:
            QUEUE_PIECE.labels(self.model).set(self._window.piece)

    def _wake_later(self, now: float) -> None:
        """Held slots come free by the mere passing of time."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._scheduler.waiting() and (when := self._scheduler.next_change(now)) is not None:
            self._timer = self._loop.call_at(when, self._pump)
