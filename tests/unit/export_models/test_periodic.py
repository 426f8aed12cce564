"""What is looked at beside other work."""

import threading

from scripts.export_models.periodic import every


def test_it_is_looked_at_again_and_again_within_the_block() -> None:
    thrice = threading.Semaphore(0)
    with every(0.001, thrice.release):
        assert all(thrice.acquire(timeout=5) for _ in range(3))


def test_nobody_looks_after_the_block() -> None:
    looks = threading.Semaphore(0)
    with every(0.001, looks.release):
        assert looks.acquire(timeout=5)
    while looks.acquire(blocking=False):
        pass
    assert not looks.acquire(timeout=0.05)
