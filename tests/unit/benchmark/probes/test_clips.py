import pytest

from scripts.benchmark.common.load import Sample
from scripts.benchmark.probes.clips import p95


def test_the_slowest_of_few_calls_counts() -> None:
    samples = [Sample(0.0, seconds, 200, 1.0) for seconds in (1.0, 1.0, 1.0, 9.0)]
    assert p95(samples) > 7


def test_a_failed_call_ends_the_measurement() -> None:
    with pytest.raises(SystemExit, match="502"):
        p95([Sample(0.0, 1.0, 200, 1.0), Sample(0.0, 1.0, 502, 1.0)])
