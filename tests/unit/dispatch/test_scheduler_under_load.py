"""What the order of a queue promises, held by a simulator."""

import heapq
import itertools
import random
import statistics
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from frontend.dispatch.scheduler import Rules, Scheduler
from frontend.dispatch.turns import Ticket

COMPANY, PRO, FREE = 1, 2, 3


def _scheduler(slots: int, floors: Mapping[str, int] | None = None) -> Scheduler:
    scheduler = Scheduler(Rules(), floors)
    scheduler.set_limit("a", slots)
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
        """``callers`` are (key, tier, owner, how many)."""
        rng, numbers = random.Random(self.seed), itertools.count()
        events: list[tuple[float, int, Callable[[float], None]]] = []

        def later(when: float, what: Callable[[float], None]) -> None:
            heapq.heappush(events, (when, next(numbers), what))

        def arrive(key: str, tier: int, owner: str | None) -> Callable[[float], None]:
            def enter(now: float) -> None:
                self.scheduler.enter(Ticket((key, tier, owner), tier, owner, now), now)

            return enter

        def end(ticket: Ticket) -> Callable[[float], None]:
            def leave(now: float) -> None:
                self.scheduler.leave(ticket, now)
                arrive(*ticket.key)(now)  # type: ignore[misc]

            return leave

        for key, tier, owner, count in callers:
            for _ in range(count):
                later(rng.random() * self.service, arrive(key, tier, owner))
        while events and events[0][0] < seconds:
            now, _, event = heapq.heappop(events)
            event(now)
            while (ticket := self.scheduler.grant(now)) is not None:
                key = ticket.key[0]  # type: ignore[index]
                self.waits.setdefault(key, []).append(now - ticket.arrived)
                self.served[key] += 1
                later(now + rng.expovariate(1 / self.service), end(ticket))


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
    # 4 s to age, and then at most five grants of 0.1 s on four slots; the flood itself waits less than 4 s.
    assert max(simulation.waits["free"]) < 4.5
    assert simulation.served["free"] >= 25


@pytest.mark.parametrize("flooding", [COMPANY, FREE])
def test_a_floor_is_held_under_any_flood(flooding: int) -> None:
    simulation = Simulation(_scheduler(8, floors={"acme": 3}))
    simulation.run([("flood", flooding, None, 300), ("acme", FREE, "acme", 3)], 60)
    assert max(simulation.waits["acme"][3:]) == 0.0
