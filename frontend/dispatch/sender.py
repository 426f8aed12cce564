"""The sender, on the event loop: the admission decides, calls wait on futures, and nothing polls."""

import asyncio
import math
from collections.abc import Collection

from frontend.config.tables import TIER_OF
from frontend.dispatch.admission import Admission, ModelCalls
from frontend.dispatch.fair_share import Call
from frontend.tritons.metrics import calls_in_flight

# Done when its call may be sent.
Sent = asyncio.Future[None]


class Sender:
    """Sends the calls of all queues of an ``admission``. Make it inside the event loop that uses it."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[Call, asyncio.Future[None]] = {}
        # Models that calls have left since the last search for the next ones.
        self._left: set[ModelCalls] = set()
        # For less than half a millisecond, uvloop returns a handle that does not tell its time.
        self._timer: asyncio.Handle | None = None
        self._looks_at = math.inf

    def enter(self, model: ModelCalls, call: Call) -> Sent:
        """Queue a call; the future is done when the call may be sent."""
        sent = self._waiting[call] = self._loop.create_future()
        model.scheduler.enter(call, call.arrived)
        self.send(model.neighbours)
        return sent

    def leave(self, model: ModelCalls, call: Call) -> None:
        """Remove a call that has ended or was abandoned, and soon send the calls that then fit."""
        self._waiting.pop(call, None)
        if call.backend:
            calls_in_flight(call.backend, model.name, TIER_OF[call.priority]).dec()
        model.leave(call, self._loop.time())
        # The calls of a request often end together: one search for the next ones is enough.
        if not self._left:
            self._loop.call_soon(self._send_next)
        self._left |= model.neighbours

    def _send_next(self) -> None:
        left, self._left = self._left, set()
        self.send(left)

    def send(self, models: Collection[ModelCalls] | None = None) -> None:
        """Send the calls to ``models`` (default all) that may go now, and set a timer for the next change."""
        now, models = self._loop.time(), self.admission.models.values() if models is None else models
        for model, call in self.admission.grants(now, models):
            calls_in_flight(call.backend, model.name, TIER_OF[call.priority]).inc()
            if not (sent := self._waiting.pop(call)).done():
                sent.set_result(None)
        when = self.admission.next_change(now, models)
        if when < self._looks_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._looks_at = self._loop.call_at(when, self._look_again), when

    def _look_again(self) -> None:
        self._timer, self._looks_at = None, math.inf
        self.send()
