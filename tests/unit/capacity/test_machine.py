import asyncio
from collections.abc import Sequence

import pytest

from scripts.capacity.simulation.clock import run
from scripts.capacity.simulation.machine import Machine


def ends(cores: float, jobs: Sequence[tuple[float, float, float]]) -> list[float]:
    """When jobs (start, seconds alone, width) end."""

    async def main() -> list[float]:
        machine = Machine(cores)

        async def one(start: float, seconds: float, width: float) -> float:
            await asyncio.sleep(start)
            await machine.run(seconds, width)
            return asyncio.get_running_loop().time()

        return list(await asyncio.gather(*(one(*job) for job in jobs)))

    return run(main())


def test_jobs_that_fit_do_not_hold_each_other_up() -> None:
    assert ends(2, [(0, 1, 1), (0, 3, 1)]) == pytest.approx([1, 3])


def test_jobs_beyond_the_cores_share_them() -> None:
    # Both run at half until the first has had its second; the other has two left, and is alone.
    assert ends(1, [(0, 1, 1), (0, 3, 1)]) == pytest.approx([2, 4])


def test_a_wide_job_gets_what_its_threads_would() -> None:
    # Three threads want two processors.
    assert ends(2, [(0, 2, 2), (0, 2, 1)]) == pytest.approx([3, 3])


def test_one_that_comes_later_slows_what_runs() -> None:
    assert ends(1, [(0, 2, 1), (1, 2, 1)]) == pytest.approx([3, 4])


def test_a_job_is_no_wider_than_the_machine() -> None:
    assert ends(2, [(0, 2, 8)]) == pytest.approx([2])
