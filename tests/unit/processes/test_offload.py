import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from frontend.observe import METRICS_FOLDER
from frontend.processes.offload import Offload, TaskKilledError, Threads, import_once


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


def _open(count: int) -> int:
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(count)]
    for file in files:
        os.close(file)
    return len(files)


def _add(a: int, b: int) -> int:
    return a + b


@pytest.fixture
async def pool() -> AsyncIterator[Offload]:
    offload = Offload(1, tasks=100, seconds=10)
    yield offload
    await offload.close()


async def test_a_task_that_overruns_is_killed_and_the_pool_goes_on() -> None:
    pool = Offload(1, tasks=100, seconds=2)
    with pytest.raises(TaskKilledError, match="^late$"):
        await pool.run(_sleep, 60)
    assert await pool.run(_add, 1, 1) == 2
    await pool.close()


async def test_a_process_that_dies_fails_its_task_alone(pool: Offload) -> None:
    with pytest.raises(TaskKilledError, match="^died$"):
        await pool.run(_die)
    assert await pool.run(_add, 1, 1) == 2


async def test_a_worker_has_a_bound_on_its_memory(pool: Offload) -> None:
    assert await pool.run(_allocate, 2**20) == 2**20
    with pytest.raises(TaskKilledError, match="^memory$"):
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


async def test_a_worker_cannot_open_many_files(pool: Offload) -> None:
    assert await pool.run(_open, 30) == 30
    with pytest.raises(OSError, match="Too many open files"):
        await pool.run(_open, 65)


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


async def _count_in_a_worker() -> None:
    pool = Offload(1, tasks=100, seconds=30)
    assert await pool.run(_counts)
    await pool.close()


def _run(function: str, **variables: str) -> None:
    """Call one of these in a process that has started no worker yet."""
    code = f"import asyncio; from {__name__} import {function}; asyncio.run({function}())"
    environ = {**os.environ, **variables}
    subprocess.run([sys.executable, "-c", code], env=environ, cwd=Path(__file__).parents[3], check=True, timeout=60)


def test_a_worker_of_one_of_several_frontends_counts_in_no_file_of_theirs(tmp_path: Path) -> None:
    _run("_count_in_a_worker", **{METRICS_FOLDER: str(tmp_path)})
    assert not os.listdir(tmp_path)


def _is_imported(module: str) -> bool:
    return module in sys.modules


async def _look_for_a_module() -> None:
    import_once(["frontend.text.phonemes"])
    pool = Offload(1, tasks=100, seconds=30)
    assert await pool.run(_is_imported, "frontend.text.phonemes")
    assert not await pool.run(_is_imported, "frontend.audio.prepare")
    await pool.close()


def test_workers_begin_with_what_was_imported_once() -> None:
    _run("_look_for_a_module")
