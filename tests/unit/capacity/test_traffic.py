from collections import Counter
from statistics import mean

import pytest

from scripts.capacity.traffic import DAY, Arrival, Share, Traffic
from scripts.capacity.traffic import arrivals as arrivals_of


def arrivals(traffic: Traffic, start: float = DAY / 2, seconds: float = 600.0, seed: int = 1) -> list[Arrival]:
    return list(arrivals_of(traffic, start, seconds, seed, window=30.0))


def test_rates_follow_from_users_and_their_calls() -> None:
    traffic = Traffic(1_000_000, active=0.1, calls=20, peak=3)
    assert traffic.mean_rate == pytest.approx(23.15, rel=0.001)
    assert traffic.peak_rate == pytest.approx(69.4, rel=0.001)


@pytest.mark.parametrize("peak", [1.0, 1.5, 3.0, 8.0])
def test_a_day_has_its_mean_and_its_peak_at_noon(peak: float) -> None:
    traffic = Traffic(1_000_000, peak=peak)
    rates = [traffic.rate(second) for second in range(0, int(DAY), 60)]
    assert mean(rates) == pytest.approx(traffic.mean_rate, rel=0.001)
    assert max(rates) == pytest.approx(traffic.rate(DAY / 2)) == pytest.approx(traffic.peak_rate)


@pytest.mark.parametrize("bursty", [0.0, 0.5])
def test_as_many_calls_come_as_the_rate_says_in_bursts_or_not(bursty: float) -> None:
    traffic = Traffic(300_000, bursty=bursty)
    assert len(arrivals(traffic)) == pytest.approx(600 * traffic.peak_rate, rel=0.05)


def test_arrivals_come_in_order_of_time() -> None:
    times = [its.at for its in arrivals(Traffic(100_000, bursty=0.5))]
    assert times == sorted(times)


def test_a_burst_comes_from_one_key_within_a_second() -> None:
    its = arrivals(Traffic(10_000, bursty=1.0, burst=10), seconds=3600.0)
    first = [arrival for arrival in its if arrival.key == its[0].key and arrival.at < its[0].at + 1]
    assert len(first) >= 10


def test_operations_and_sizes_are_those_that_were_asked_for() -> None:
    shares = {"embeddings": Share(0.75, 200.0), "transcriptions": Share(0.25, 90.0)}
    its = arrivals(Traffic(300_000, shares=shares))
    parts = Counter(arrival.request.operation for arrival in its)
    assert parts["embeddings"] / len(its) == pytest.approx(0.75, abs=0.02)
    sizes = [arrival.request.units for arrival in its if arrival.request.operation == "embeddings"]
    assert mean(sizes) == pytest.approx(200, rel=0.05)


def test_the_same_seed_gives_the_same_arrivals() -> None:
    traffic = Traffic(100_000)
    assert arrivals(traffic) == arrivals(traffic) != arrivals(traffic, seed=2)
