"""The simulation beside waits that are known in closed form."""

import heapq
import math
import random
from statistics import mean

import pytest

from frontend.config.settings import Settings
from scripts.capacity.fits import Line
from scripts.capacity.requests import Request
from scripts.capacity.simulation.service import Happened, simulate
from scripts.capacity.traffic import Arrival
from tests.unit.capacity.products import deployment, fits

PATIENT = Settings(queue_per_key=100_000, queue_per_tier=100_000)


def arrival(at: float, work: float, key: int = 0, tier: int = 3) -> Arrival:
    return Arrival(at, Request("speech", 1.0, (work,)), key, tier)


def seconds(happened: Happened) -> list[float]:
    return [outcome.seconds for _, outcome in happened.outcomes]


def erlang_c(servers: int, load: float) -> float:
    """The probability that a call waits (Kleinrock, "Queueing systems I", 1975, 3.5); ``load`` in servers."""
    terms = [load**number / math.factorial(number) for number in range(servers)]
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    return last / (sum(terms) + last)


def arrivals_at_random(count: int, load: float) -> list[Arrival]:
    rng, at, found = random.Random(1), 0.0, []
    for _ in range(count):
        at += rng.expovariate(load)
        found.append(arrival(at, rng.expovariate(1.0)))
    return found


def on_servers(servers: int, arrivals: list[Arrival]) -> list[float]:
    product = fits(Line(per_unit=1.0), instances=servers, cores=servers)
    happened = simulate(product, deployment(cores=servers, settings=PATIENT), arrivals)
    took = {arrival.at: outcome.seconds for arrival, outcome in happened.outcomes}
    return [took[arrival.at] for arrival in arrivals]


@pytest.mark.parametrize(("servers", "load"), [(1, 0.4), (3, 1.5)])
def test_waits_of_random_arrivals_are_those_of_erlang(servers: int, load: float) -> None:
    arrivals = arrivals_at_random(1_200, load)
    # What came of chance is taken out: the rate and the work of these arrivals.
    rate, work = len(arrivals) / arrivals[-1].at, mean(its.request.parts[0] for its in arrivals)
    expected = work * (1 + erlang_c(servers, rate * work) / (servers - rate * work))
    assert mean(on_servers(servers, arrivals)) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(("servers", "load"), [(1, 0.9), (3, 2.8)])
def test_each_wait_is_that_of_the_recursion(servers: int, load: float) -> None:
    """Kiefer and Wolfowitz, "On the theory of queues with many servers", 1955: who comes takes what is free first."""
    arrivals = arrivals_at_random(300, load)
    free, expected = [0.0] * servers, []
    for its in arrivals:
        work = its.request.parts[0]
        end = max(its.at, heapq.heappop(free)) + work
        heapq.heappush(free, end)
        expected.append(end - its.at)
    assert on_servers(servers, arrivals) == pytest.approx(expected, abs=1e-6)


def test_even_arrivals_below_the_rate_wait_for_nobody() -> None:
    took = seconds(simulate(fits(Line(0.5)), deployment(), [arrival(number, 1.0) for number in range(50)]))
    assert took == pytest.approx([0.5] * 50)


def test_calls_at_once_are_done_one_after_another() -> None:
    took = seconds(simulate(fits(Line(0.5)), deployment(), [arrival(0, 1.0) for _ in range(20)]))
    assert sorted(took) == pytest.approx([0.5 * number for number in range(1, 21)])


def test_calls_that_wait_are_joined_in_full_batches() -> None:
    # One goes alone, since it is the first; then four and three. No more than two batches are sent.
    took = seconds(simulate(fits(Line(1.0), batch=4), deployment(), [arrival(0, 1.0) for _ in range(8)]))
    assert sorted(took) == pytest.approx([1.0] + [2.0] * 4 + [3.0] * 3)


def test_a_batch_waits_for_its_delay() -> None:
    took = seconds(simulate(fits(Line(1.0), batch=4, delay=0.25), deployment(), [arrival(0, 1.0), arrival(0, 1.0)]))
    assert took == pytest.approx([1.25, 1.25])


def test_the_first_tier_goes_before_the_others() -> None:
    arrivals = [arrival(0.1 * number, 1.0, tier, tier) for number in range(60) for tier in (1, 2, 3)]
    happened = simulate(fits(Line(0.2)), deployment(settings=PATIENT), arrivals)
    first, second, third = (
        mean(outcome.seconds for arrival, outcome in happened.outcomes if arrival.tier == tier) for tier in (1, 2, 3)
    )
    assert first < second < third
