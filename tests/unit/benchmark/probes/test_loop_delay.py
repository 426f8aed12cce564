import pytest

from scripts.benchmark.probes.loop_delay import bound


@pytest.mark.parametrize(("share", "seconds"), [(0.5, 0.001), (0.9, 0.01), (1.0, float("inf"))])
def test_a_share_of_a_histogram_lies_below_a_bucket(share: float, seconds: float) -> None:
    before = {0.001: 10.0, 0.01: 10.0, float("inf"): 10.0}
    after = {0.001: 60.0, 0.01: 105.0, float("inf"): 110.0}
    assert bound(before, after, share) == seconds
