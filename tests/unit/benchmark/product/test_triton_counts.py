from scripts.benchmark.product.triton_counts import between


def test_triton_is_counted_between_two_moments() -> None:
    before = {"m": {"requests": 2.0, "executions": 2.0, "queue_ns": 0.0, "compute_ns": 0.0}}
    after = {"m": {"requests": 10.0, "executions": 4.0, "queue_ns": 16e6, "compute_ns": 80e6}, "n": before["m"]}
    found = between(before, {**after, "n": {**before["m"], "requests": 0.0}})
    assert found == {"m": {"requests": 8.0, "executions": 2.0, "mean_batch": 4.0, "queue_ms": 2.0, "compute_ms": 10.0}}
