"""Calls to local workers, in the scheduler's order: all slots are alike, and a call takes one of them.

Bulk work goes last, and does not wait until the workers are idle.
"""

import asyncio

from frontend.config.tables import TIER_OF
from frontend.dispatch.fair_share import Call
from frontend.dispatch.scheduler import Rules, Scheduler
from frontend.tritons.metrics import calls_in_flight

# Length of the running mean of seconds, in calls.
_MEAN_CALLS = 5


class LocalCalls:
    """The calls to ``slots`` workers. Make it inside the event loop that uses it."""

    is_open = True

    def __init__(self, name: str, rules: Rules, slots: int) -> None:
        self.name, self.scheduler = name, Scheduler(rules)
        self.scheduler.bound = slots
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[Call, asyncio.Future[None]] = {}
        self._seconds, self._answers = 0.0, 0

    def enter(self, call: Call) -> asyncio.Future[None]:
        """Queue a call. The future is done when it has a worker."""
        sent = self._waiting[call] = self._loop.create_future()
        self.scheduler.enter(call, call.arrived)
        self._send()
        return sent

    def leave(self, call: Call) -> None:
        """Remove a call that has ended or was abandoned, and send the next one."""
        self._waiting.pop(call, None)
        if call.backend:
            calls_in_flight(self.name, self.name, TIER_OF[call.priority]).dec()
        self.scheduler.leave(call, self._loop.time())
        self._send()

    def _send(self) -> None:
        scheduler, now = self.scheduler, self._loop.time()
        while scheduler.waits and scheduler.in_flight < scheduler.bound and (choice := scheduler.next(now)):
            order, call = choice
            call.backend = self.name
            scheduler.begin(order, call, now)
            calls_in_flight(self.name, self.name, TIER_OF[call.priority]).inc()
            if not (sent := self._waiting.pop(call)).done():
                sent.set_result(None)

    def answered(self, call: Call, now: float) -> None:
        """Measure a call that has an answer."""
        self._answers = min(self._answers + 1, _MEAN_CALLS)
        self._seconds += (now - call.sent - self._seconds) / self._answers

    def seconds_for(self, work: float, at_once: int) -> float:
        """Seconds that ``work`` calls take, ``at_once`` in parallel; 0 if nothing was measured."""
        return work * self._seconds / min(at_once, self.scheduler.bound)

    def expected_wait(self, call: Call) -> float:
        """Seconds that a call that comes would wait."""
        before = self.scheduler.work_before(call) + (self.scheduler.in_flight >= self.scheduler.bound)
        return before * self._seconds / self.scheduler.bound
