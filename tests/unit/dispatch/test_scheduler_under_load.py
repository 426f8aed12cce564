"""What the order of a queue promises, held by a simulator."""

import heapq
import itertools
import random
import statistics
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from frontend.dispatch.fair_share import Call
from frontend.dispatch.scheduler import Rules, Scheduler
from tests.unit.dispatch.calls import COMPANY, FREE, PRO, granted


def _scheduler(places: int, floors: Mapping[str, int] | None = None) -> Scheduler:
    scheduler = Scheduler(Rules(), floors)
    scheduler.bound = places
    return scheduler


@dataclass
class Simulation:
    """Closed-loop callers over one scheduler, on a clock of events; ``waits`` are seconds by key."""

    scheduler: Scheduler
    service: float = 0.1
    seed: int = 1
    waits: dict[str, list[float]] = field(default_factory=dict)
    served: Counter[str] = field(default_factory=Counter)

    def run(self, callers: list[tuple[str, int, str | None, int]], seconds: float) -> None:
        """``callers`` are (key, priority, owner, how many)."""
        rng, numbers = random.Random(self.seed), itertools.count()
        events: list[tuple[float, int, Callable[[float], None]]] = []

        def later(when: float, what: Callable[[float], None]) -> None:
            heapq.heappush(events, (when, next(numbers), what))

        def arrive(key: str, priority: int, owner: str | None) -> Callable[[float], None]:
            def enter(now: float) -> None:
                self.scheduler.enter(Call((key, priority, owner), priority, owner, now), now)

            return enter

        def end(call: Call) -> Callable[[float], None]:
            def leave(now: float) -> None:
                self.scheduler.leave(call, now)
                arrive(*call.key)(now)  # type: ignore[misc]

            return leave

        for key, priority, owner, count in callers:
            for _ in range(count):
                later(rng.random() * self.service, arrive(key, priority, owner))
        while events and events[0][0] < seconds:
            now, _, event = heapq.heappop(events)
            event(now)
            while (call := granted(self.scheduler, now)) is not None:
                key = call.key[0]  # type: ignore[index]
                self.waits.setdefault(key, []).append(now - call.arrived)
                self.served[key] += 1
                later(now + rng.expovariate(1 / self.service), end(call))


def test_under_a_flood_company_goes_before_pro_before_free_and_free_is_served() -> None:
    simulation = Simulation(_scheduler(8))
    flood: list[tuple[str, int, str | None, int]] = [(f"free{n}", FREE, None, 4) for n in range(100)]
    simulation.run([*flood, ("pro", PRO, None, 6), ("company", COMPANY, None, 4)], 120)
    free = [wait for key, its in simulation.waits.items() if key.startswith("free") for wait in its]
    company, pro = (statistics.mean(simulation.waits[key]) for key in ("company", "pro"))
    assert company < pro < statistics.mean(free)
    assert company < 0.1
    share = len(free) / sum(simulation.served.values())
    assert share >= 0.19


def test_a_free_key_is_served_within_the_ageing_bound_under_a_company_flood() -> None:
    simulation = Simulation(_scheduler(4))
    simulation.run([("company", COMPANY, None, 100), ("free", FREE, None, 1)], 120)
    # 4 s to age, and then at most five grants of 0.1 s on four places; the flood itself waits less than 4 s.
    assert max(simulation.waits["free"]) < 4.5
    assert simulation.served["free"] >= 25


@pytest.mark.parametrize("flooding", [COMPANY, FREE])
def test_a_floor_is_held_under_any_flood(flooding: int) -> None:
    simulation = Simulation(_scheduler(8, floors={"acme": 3}))
    simulation.run([("flood", flooding, None, 300), ("acme", FREE, "acme", 3)], 60)
    assert max(simulation.waits["acme"][3:]) == 0.0
