"""The queue of a model: its calls wait for their turn, and those that would be late are refused."""

import asyncio
import math
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

from frontend.concurrency.background import cancel_all, forget_outcome
from frontend.config.tables import TIER_OF
from frontend.dispatch.context import RequestContext
from frontend.dispatch.fair_share import Call
from frontend.dispatch.large_work import LargeWork, seconds_late
from frontend.dispatch.scheduler import PRIORITIES, Scheduler
from frontend.dispatch.sender import Sent
from frontend.errors import Busy
from frontend.observe.metrics import QUEUE_REFUSED, QUEUE_SECONDS, QUEUE_WAITING
from frontend.observe.record import current

_REFUSALS = {
    "full": "too many calls are waiting for the model, retry later",
    "away": "the model backend is temporarily unreachable, retry with backoff",
    "late": "the model is too busy to answer in time, retry later",
}
# The share of the time to its deadline that a call may wait. The rest is for its own work, which is not known yet.
_FULL = 0.95
# Later requests of a key may pass one until it has taken so many times as long as alone, or half of its deadline.
_STRETCH = 4
# The largest ``Retry-After``, in seconds.
_LONGEST_RETRY = 300
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Bounds:
    """The most waiting calls of one key and of one priority, so that a flood of one leaves room for others."""

    key: int = 256
    tier: int = 4096


class Calls(Protocol):
    """What a queue asks of its calls, as ``ModelCalls`` and ``LocalCalls`` answer."""

    name: str
    scheduler: Scheduler

    @property
    def is_open(self) -> bool: ...
    def answered(self, call: Call, now: float) -> None: ...
    def seconds_for(self, work: float, at_once: int) -> float: ...
    def expected_wait(self, call: Call) -> float: ...


class ModelQueue:
    """The queue of one model, or of one kind of workers."""

    def __init__(
        self, calls: Calls, enter: Callable[[Call], Sent], leave: Callable[[Call], None], bounds: Bounds
    ) -> None:
        self.model, self._calls, self._bounds = calls.name, calls, bounds
        self._enters, self._leaves = enter, leave
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[object]] = set()
        self._large: set[LargeWork] = set()
        for reason in _REFUSALS:
            QUEUE_REFUSED.labels(self.model, reason)
        # Read when they are scraped: every call changes them.
        for level in range(1, PRIORITIES + 1):
            QUEUE_WAITING.labels(self.model, TIER_OF[level]).set_function(partial(calls.scheduler.waiting, level))

    async def close(self) -> None:
        """Cancel calls that still run after their callers were cancelled."""
        await cancel_all(list(self._tasks))

    @property
    def bound(self) -> int:
        """The most calls in flight."""
        return self._calls.scheduler.bound

    @property
    def is_quiet(self) -> bool:
        """Whether no call of rank 0 waits or is in flight, or did in the last two seconds."""
        return self._calls.scheduler.is_quiet(self._loop.time())

    @property
    def demand(self) -> int:
        """Calls that wait or are in flight, without bulk work."""
        return self._calls.scheduler.others

    @asynccontextmanager
    async def slot(self, context: RequestContext) -> AsyncIterator[str]:
        """Wait for a slot, keep it within the block, and yield the backend's name.

        Raises ``Busy`` at once if the queue is full or the expected wait exceeds the deadline, else at the deadline.
        ``Retry-After`` is the expected wait.
        """
        call = await self._enter(context, 1.0)
        with self._measured(call):
            yield call.backend

    def refuse_full(self, context: RequestContext) -> None:
        """Raise ``Busy`` if no backend takes calls, or as many calls wait as may. It saves the work before a call."""
        scheduler, bounds = self._calls.scheduler, self._bounds
        if not self._calls.is_open:
            raise self._refusal("away", context)
        if scheduler.waiting_of(context.key) >= bounds.key or scheduler.waiting(context.priority) >= bounds.tier:
            raise self._refusal("full", context)

    def refuse_early(self, context: RequestContext) -> None:
        """As ``refuse_full``, and if the wait leaves a call of any work too little time. For deadlines that stay."""
        self.refuse_full(context)
        if self.seconds_late(context) > 0:
            raise self.late(context)

    def seconds_late(self, context: RequestContext) -> float:
        """Seconds by which a call whose work is not known yet would be late; negative if it would be in time."""
        return self._loop.time() + self._expected_wait(context) / _FULL - context.deadline

    def late(self, context: RequestContext) -> Busy:
        """The refusal of a call that would be late."""
        return self._refusal("late", context)

    def seconds_for(self, work: float) -> float:
        """Seconds that ``work`` takes, one call after another; 0 if nothing was measured."""
        return self._calls.seconds_for(work, 1) if self._calls.is_open else 0.0

    def contexts(self, context: RequestContext, costs: Sequence[float], at_once: int) -> list[RequestContext]:
        """The context of each call of a request that now begins, with ``at_once`` calls in the queue or in flight."""
        follows = [0.0] * (len(costs) + at_once)
        for number in reversed(range(len(costs) - at_once)):
            follows[number] = costs[number + at_once] + follows[number + at_once]
        alone = self._calls.seconds_for(sum(costs), self.bound or 1)
        due = self._loop.time() + min(_STRETCH * alone, context.remaining() / 2)
        return [replace(context, due=due, follows=rest) for rest in follows[: len(costs)]]

    def refuse_late(self, context: RequestContext, work: float, at_once: int) -> None:
        """Raise ``Busy`` if ``work``, in ``at_once`` parallel calls, would end after the deadline."""
        seconds = self._calls.seconds_for(work, at_once) if self._calls.is_open else 0.0
        if seconds and self._loop.time() + self._calls.expected_wait(self._call(context)) + seconds > context.deadline:
            refusal = f"this would take about {seconds:.0f} s of work and has {context.remaining():.0f} s, retry later"
            raise self._refusal("late", context, f"the model is too busy: {refusal}")

    @contextmanager
    def large(self, context: RequestContext, work: LargeWork) -> Iterator[None]:
        """Within the block, ``work`` is under way. Raises ``Busy`` if it or other large work would then end late.

        An idle model takes any.
        """
        seconds = self._calls.seconds_for(1.0, self.bound or 1) if self.demand or self._large else 0.0
        if late := seconds_late(self._large, work, self._loop.time(), seconds):
            raise self._refusal("late", context, "the model has too much other work to end in time, retry later", late)
        self._large.add(work)
        try:
            yield
        finally:
            self._large.remove(work)

    async def run(
        self,
        context: RequestContext,
        work: Callable[[str], Awaitable[Answer]],
        *,
        cost: float = 1.0,
        grace: Callable[[str], float] = lambda backend: math.inf,
    ) -> Answer:
        """Wait for a slot as in ``slot``, then run ``work`` with the backend's name.

        The slot is in use until the work ends. If the caller is cancelled, the work is cancelled ``grace`` (of that
        backend) seconds later, because a backend is not free before its work stops.
        """
        call = await self._enter(context, cost)
        task = asyncio.ensure_future(self._work(call, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                task.add_done_callback(forget_outcome)
                if (seconds := grace(call.backend)) < math.inf:
                    self._loop.call_later(seconds, task.cancel)
            raise
        finally:
            # It refers to its error, whose traceback refers to this frame: only garbage collection would free them.
            del task

    async def _work(self, call: Call, work: Callable[[str], Awaitable[Answer]]) -> Answer:
        with self._measured(call):
            return await work(call.backend)

    @contextmanager
    def _measured(self, call: Call) -> Iterator[None]:
        """Measure a call that has a slot, unless it fails, and give its slot back."""
        try:
            yield
            self._calls.answered(call, self._loop.time())
        finally:
            self._leaves(call)

    def _call(self, context: RequestContext, cost: float = 1.0) -> Call:
        now, begun = self._loop.time(), context.due is not None
        due = context.due if context.due is not None else now
        return Call(context.key, context.priority, context.owner, now, cost, context.rank, due, context.follows, begun)

    async def _enter(self, context: RequestContext, cost: float) -> Call:
        self.refuse_full(context)
        call = self._call(context, cost)
        if call.arrived + self._calls.expected_wait(call) > context.deadline:
            raise self._refusal("late", context)
        sent = self._enters(call)
        try:
            with current().queue, current().tracer.span("queue"):
                if not sent.done():
                    await self._until(sent, context)
        except BaseException:
            # A grant and a cancellation can meet in one iteration of the loop; the scheduler knows the first.
            self._leaves(call)
            raise
        QUEUE_SECONDS.labels(self.model, TIER_OF[context.priority]).observe(call.sent - call.arrived)
        return call

    async def _until(self, sent: Sent, context: RequestContext) -> None:
        try:
            async with asyncio.timeout_at(context.deadline):
                await sent
        except TimeoutError:
            raise self._refusal("late", context) from None

    def _expected_wait(self, context: RequestContext) -> float:
        return self._calls.expected_wait(self._call(context))

    def _refusal(
        self, reason: str, context: RequestContext, message: str | None = None, wait: float | None = None
    ) -> Busy:
        QUEUE_REFUSED.labels(self.model, reason).inc()
        if wait is None:
            # A new request, behind all of its key.
            wait = self._expected_wait(replace(context, rank=sys.maxsize, due=None)) if self._calls.is_open else 0.0
        return Busy(message or _REFUSALS[reason], retry_after=max(1, min(math.ceil(wait), _LONGEST_RETRY)))
