import pytest

from scripts.benchmark.common.load import Sample
from scripts.benchmark.common.summary import Spread, summary


def test_errors_do_not_count_as_throughput() -> None:
    its = summary([Sample(0.0, 2.0, 200, 10), Sample(1.0, 3.0, 200, 10), Sample(1.0, 1.0, 502, 10)])
    assert (its.units_a_second, its.calls_a_second, its.errors, its.failed) == (5, 0.5, {"502": 1}, 1)


def test_percentiles_are_of_the_calls_that_succeeded() -> None:
    its = summary([Sample(0.0, number / 100, 200, 1) for number in range(1, 101)] + [Sample(0.0, 9.0, 502, 1)])
    assert its.percentile("p50") == pytest.approx(0.505)
    assert its.latency["max"] == 1.0


def test_without_a_successful_call_every_latency_is_infinite() -> None:
    assert summary([Sample(0.0, 1.0, 502, 1)]).percentile("p95") == float("inf")


def test_ratios_are_of_figures_of_the_same_round() -> None:
    assert f"{Spread.of_ratios([3, 4, 8], [1, 2, 1]):.1f}" == "3.0 (2.0 to 8.0)"
