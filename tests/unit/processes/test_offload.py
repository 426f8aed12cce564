import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frontend.errors import BadGateway
from frontend.observe import METRICS_FOLDER, METRICS_NUMBER
from frontend.processes import offload
from frontend.processes.offload import Offload, TaskKilledError, Threads, import_once
from tests.deaths import die
from tests.eventually import until
from tests.samples import Change, total


def _pid_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def _work() -> None:
    while True:
        pass


def _write(path: str) -> None:
    with open(path, "w") as file:
        file.write("x")
        file.flush()


def _allocate(count: int) -> int:
    # Memory without writes takes none, unless a limit counts it.
    return np.empty(count, np.uint8).size


_kept: list[bytes] = []


def _keep(count: int) -> int:
    _kept.append(b"x" * count)
    return os.getpid()


def _open(count: int) -> int:
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(count)]
    for file in files:
        os.close(file)
    return len(files)


@pytest.fixture
async def pool() -> AsyncIterator[Offload]:
    started = Offload("tested", 1, tasks=100, seconds=10)
    yield started
    await started.close()


@pytest.mark.parametrize(
    ("task", "reason", "deaths", "error"),
    [
        ((_work,), "late", 1, TaskKilledError),
        ((time.sleep, 60), "late", 1, BadGateway),
        ((die,), "died", 2, BadGateway),
    ],
    ids=["late", "stalled", "died"],
)
async def test_a_process_that_ends_with_its_task_is_counted_and_replaced(
    monkeypatch: pytest.MonkeyPatch, task: tuple[Any, ...], reason: str, deaths: int, error: type[Exception]
) -> None:
    # Other tests may leave it little of a processor.
    monkeypatch.setattr(offload, "_WORKED_SHARE", 0.02)
    pool = Offload("counted", 1, tasks=100, seconds=2)
    killed = Change("quartet_workers_killed_total", pool="counted", reason=reason)
    with pytest.raises(error):
        await pool.run(*task)
    assert await pool.run(add, 1, 1) == 2
    await until(lambda: killed.by == deaths)
    await pool.close()


async def test_a_cancelled_task_is_killed_counted_and_leaves_its_worker_to_the_next(pool: Offload) -> None:
    killed = Change("quartet_workers_killed_total", pool="tested", reason="hung_up")
    assert await pool.run(add, 1, 1) == 2
    task = asyncio.create_task(pool.run(time.sleep, 600))
    await asyncio.sleep(0.5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await pool.run(add, 1, 2) == 3
    await until(lambda: killed.by == 1)


async def test_a_process_that_dies_idle_is_replaced_before_the_next_task(pool: Offload) -> None:
    pid = await pool.run(os.getpid)
    died = Change("quartet_workers_killed_total", pool="tested", reason="died")
    os.kill(pid, signal.SIGKILL)
    await until(lambda: died.by == 1 and pool.works)
    assert await pool.run(os.getpid) != pid


async def test_a_task_succeeds_although_all_processes_died_idle() -> None:
    pool = Offload("tested", 2, tasks=100, seconds=30)
    pids = set(await asyncio.gather(*(pool.run(_pid_after, 0.5) for _ in range(2))))
    assert len(pids) == 2
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert await pool.run(add, 1, 1) == 2
    await pool.close()


async def test_the_death_of_a_process_does_not_harm_the_task_of_another() -> None:
    pool = Offload("tested", 2, tasks=100, seconds=30)
    other = asyncio.create_task(pool.run(_pid_after, 2))
    await asyncio.sleep(0.5)
    os.kill(await pool.run(os.getpid), signal.SIGKILL)
    await other
    await pool.close()


async def test_a_task_succeeds_after_the_death_of_the_forkserver(pool: Offload) -> None:
    pid = await pool.run(os.getppid)
    os.kill(pid, signal.SIGKILL)
    assert await pool.run(add, 1, 1) == 2


async def test_a_process_that_is_replaced_after_its_last_task_is_not_counted() -> None:
    pool = Offload("renewed", 1, tasks=2, seconds=30)
    pids = [await pool.run(os.getpid) for _ in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]
    await pool.close()
    assert total("quartet_workers_killed_total", pool="renewed") == 0


async def test_a_pool_whose_processes_cannot_start_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offload, "_START_SECONDS", 3.0)
    pool = Offload("tested", 1, tasks=2, seconds=30, prepare=die)
    before = pool.works
    with pytest.raises(BadGateway):
        await pool.run(add, 1, 1)
    assert (before, pool.works) == (True, False)
    await pool.close()


async def test_the_memory_of_a_process_is_limited(pool: Offload) -> None:
    assert await pool.run(_allocate, 2**20) == 2**20
    killed, pid = Change("quartet_workers_killed_total", pool="tested", reason="memory"), await pool.run(os.getpid)
    with pytest.raises(TaskKilledError, match="^memory$"):
        await pool.run(_allocate, 5 * 2**30)
    # It counts processes that end, and not tasks.
    assert await pool.run(os.getpid) != pid
    await until(lambda: killed.by == 1)


async def test_a_process_that_keeps_memory_is_replaced(pool: Offload) -> None:
    first = await pool.run(_keep, 30 * 1024**2)
    assert await pool.run(_keep, 40 * 1024**2) == first
    assert await pool.run(os.getpid) != first


async def test_a_process_cannot_write_files(pool: Offload, tmp_path: os.PathLike[str]) -> None:
    with pytest.raises(OSError):
        await pool.run(_write, os.path.join(tmp_path, "file"))


async def test_a_process_cannot_open_many_files(pool: Offload) -> None:
    assert await pool.run(_open, 30) == 30
    with pytest.raises(OSError, match="Too many open files"):
        await pool.run(_open, 65)


async def test_the_error_of_a_function_passes_through(pool: Offload) -> None:
    with pytest.raises(TypeError):
        await pool.run(add, 1, "a")


async def test_a_thread_returns_the_result_of_the_function() -> None:
    threads = Threads(1)
    assert await threads.run(int, "11", base=2) == 3
    await threads.close()


def _count() -> None:
    from frontend.observe.metrics import LOG_DROPPED

    LOG_DROPPED.inc()


def _is_imported(module: str) -> bool:
    return module in sys.modules


async def _use_preloaded_modules() -> None:
    import_once(["frontend.text.phonemes"])
    pool = Offload("tested", 1, tasks=100, seconds=30)
    assert await pool.run(_is_imported, "frontend.text.phonemes")
    assert not await pool.run(_is_imported, "frontend.audio.prepare")
    await pool.run(_count)
    await pool.close()


def test_processes_begin_with_the_preloaded_modules_and_count_in_no_file_of_a_worker(tmp_path: Path) -> None:
    code = f"import asyncio; from {__name__} import _use_preloaded_modules as run; asyncio.run(run())"
    environ = {**os.environ, METRICS_FOLDER: str(tmp_path), METRICS_NUMBER: "5"}
    subprocess.run([sys.executable, "-c", code], env=environ, cwd=Path(__file__).parents[3], check=True, timeout=60)
    assert {path.stem.rpartition("_")[2] for path in tmp_path.iterdir()} == {"5"}
