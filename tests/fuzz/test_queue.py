"""A queue in any order of calls, ends, failures, deadlines and callers who give up: every slot comes back."""

import asyncio
import math
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from frontend.dispatch.queue import Bounds
from frontend.dispatch.scheduler import BULK
from frontend.errors import BadGateway, Busy
from tests.clocks import VirtualLoop
from tests.fuzz import histories
from tests.unit.dispatch.queues import Queue, asking, queue_of


@dataclass(eq=False)
class _Asked:
    """A caller: its task, when it must be done, and how its call ends once that runs."""

    caller: asyncio.Task[str]
    deadline: float
    end: asyncio.Future[str]
    priority: int
    runs: bool = False
    given_up: bool = False


class Queues(RuleBasedStateMachine):
    """The model knows who was told to end; time is virtual."""

    @initialize(places=st.integers(1, 4), grace=st.sampled_from([0.0, 1.0, math.inf]))
    def begin(self, places: int, grace: float) -> None:
        self.runner, self.grace, self.places = asyncio.Runner(loop_factory=VirtualLoop), grace, places
        self.asked: list[_Asked] = []
        self.queue = self.runner.run(self._made(places))

    async def _made(self, places: int) -> Queue:
        return queue_of(places, Bounds(key=5, tier=9))

    def _spin(self, seconds: float = 0.0) -> None:
        """Let everything happen that can, and time pass."""
        self.runner.run(asyncio.sleep(seconds))
        for _ in range(20):
            self.runner.run(asyncio.sleep(0))

    @rule(key=st.sampled_from("xyz"), priority=st.integers(1, BULK), seconds=st.sampled_from([0.5, 5.0, 60.0]))
    def a_call_comes(self, key: str, priority: int, seconds: float) -> None:
        self.asked.append(self.runner.run(self._call(key, priority, seconds)))
        self._spin()

    async def _call(self, key: str, priority: int, seconds: float) -> _Asked:
        loop = asyncio.get_running_loop()
        context = asking(key, priority, seconds)

        async def work(backend: str) -> str:
            asked.runs = True
            try:
                return await asyncio.shield(asked.end)
            finally:
                asked.runs = False

        run = self.queue.run(context, work, grace=lambda backend: self.grace)
        asked = _Asked(loop.create_task(run), context.deadline, loop.create_future(), priority)
        return asked

    @precondition(lambda self: any(each.runs for each in self.asked))
    @rule(data=st.data(), fails=st.booleans())
    def a_call_ends(self, data: st.DataObject, fails: bool) -> None:
        asked = data.draw(st.sampled_from([each for each in self.asked if each.runs]))
        if fails:
            asked.end.set_exception(BadGateway("it failed"))
        else:
            asked.end.set_result("done")
        self._spin()
        assert asked.caller.done()
        if not asked.given_up:
            assert isinstance(asked.caller.exception(), BadGateway) if fails else asked.caller.result() == "done"
        self.asked.remove(asked)

    @precondition(lambda self: any(not each.caller.done() for each in self.asked))
    @rule(data=st.data())
    def a_caller_gives_up(self, data: st.DataObject) -> None:
        asked = data.draw(st.sampled_from([each for each in self.asked if not each.caller.done()]))
        asked.given_up = True
        asked.caller.cancel()
        self._spin()
        assert asked.caller.cancelled()

    @rule(places=st.integers(0, 4))
    def places_change(self, places: int) -> None:
        self.places = places
        self.runner.run(self._set(places))
        self._spin()

    async def _set(self, places: int) -> None:
        self.queue.set_places("a", places)

    @rule(seconds=st.sampled_from([0.1, 1.0, 10.0]))
    def time_passes(self, seconds: float) -> None:
        self._spin(seconds)

    @invariant()
    def nobody_waits_for_a_free_slot_or_beyond_a_deadline(self) -> None:
        if not hasattr(self, "asked"):
            return
        now = self.runner.get_loop().time()
        for asked in list(self.asked):
            if asked.caller.done() and not asked.runs:
                # It was refused, or its caller has gone.
                assert asked.given_up or isinstance(asked.caller.exception(), Busy)
                self.asked.remove(asked)
        running = sum(each.runs for each in self.asked)
        waiting = [each for each in self.asked if not each.runs]
        assert self.queue.in_flight == running
        assert self.queue.calls.scheduler.waits == len(waiting)
        # Bulk work waits while others use the model.
        assert running >= self.queue.bound or all(each.priority == BULK for each in waiting)
        assert all(each.deadline >= now for each in waiting)

    def teardown(self) -> None:
        if not hasattr(self, "asked"):
            return
        for asked in self.asked:
            asked.caller.cancel()
            if not asked.end.done():
                asked.end.set_result("done")
        self._spin(2.0)
        assert self.queue.in_flight == self.queue.calls.scheduler.waits == 0
        self.runner.close()


TestQueues = histories(Queues, 25, steps=30)
