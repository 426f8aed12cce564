import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from frontend.observe import METRICS_FOLDER
from frontend.processes.offload import Offload, TaskKilledError, Threads


def _sleep(seconds: float) -> None:
    time.sleep(seconds)


def _die() -> None:
    os._exit(3)


def _write(path: str) -> None:
    with open(path, "w") as file:
        file.write("x")
        file.flush()


def _allocate(count: int) -> int:
    # Memory that is not touched takes none, where nothing bounds it.
    return np.empty(count, np.uint8).size


def _add(a: int, b: int) -> int:
    return a + b


@pytest.fixture
async def pool() -> AsyncIterator[Offload]:
    offload = Offload(1, tasks=100, seconds=10)
    yield offload
    await offload.close()


async def test_a_task_that_overruns_is_killed_and_the_pool_goes_on() -> None:
    pool = Offload(1, tasks=100, seconds=2)
    with pytest.raises(TaskKilledError):
        await pool.run(_sleep, 60)
    assert await pool.run(_add, 1, 1) == 2
    await pool.close()


async def test_a_process_that_dies_fails_its_task_alone(pool: Offload) -> None:
    with pytest.raises(TaskKilledError):
        await pool.run(_die)
    assert await pool.run(_add, 1, 1) == 2


async def test_a_worker_has_a_bound_on_its_memory(pool: Offload) -> None:
    assert await pool.run(_allocate, 2**20) == 2**20
    with pytest.raises(TaskKilledError):
        await pool.run(_allocate, 5 * 2**30)


async def test_a_task_that_is_cancelled_is_killed_and_leaves_its_worker_to_the_next() -> None:
    pool = Offload(1, tasks=100, seconds=600)
    assert await pool.run(_add, 1, 1) == 2
    task = asyncio.create_task(pool.run(_sleep, 600))
    await asyncio.sleep(0.5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(120):
        assert await pool.run(_add, 1, 2) == 3
    await pool.close()


async def test_a_worker_cannot_write_files(pool: Offload, tmp_path: os.PathLike[str]) -> None:
    with pytest.raises(OSError):
        await pool.run(_write, os.path.join(tmp_path, "file"))


async def test_a_functions_own_error_passes_through(pool: Offload) -> None:
    with pytest.raises(TypeError):
        await pool.run(_add, 1, "a")  # type: ignore[arg-type]


async def test_threads_answer_what_the_function_answers() -> None:
    threads = Threads(1)
    assert await threads.run(_add, 1, b=2) == 3
    await threads.close()


def _counts() -> bool:
    from frontend.observe.metrics import LOG_DROPPED

    LOG_DROPPED.inc()
    return True


async def test_a_worker_of_one_of_several_frontends_counts_in_no_file_of_theirs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(METRICS_FOLDER, str(tmp_path))
    pool = Offload(1, tasks=100, seconds=30)
    assert await pool.run(_counts)
    assert not os.listdir(tmp_path)
    await pool.close()
