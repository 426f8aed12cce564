import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from frontend.errors import BadGateway
from frontend.observe import METRICS_FOLDER
from frontend.processes import offload
from frontend.processes.offload import Offload, TaskKilledError, Threads, import_once
from tests.deaths import die
from tests.eventually import until
from tests.samples import Change, total

_REASONS = ("late", "died", "hung_up")


def _sleep(seconds: float) -> None:
    time.sleep(seconds)


def _pid_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def _wait_if_first(folder: str) -> str:
    """Leaves a folder named after its process, and waits where that is the only one."""
    os.mkdir(os.path.join(folder, str(os.getpid())))
    if len(os.listdir(folder)) == 1:
        time.sleep(60)
    return "done"


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
    started = Offload("tested", 1, tasks=100, seconds=10)
    yield started
    await started.close()


async def test_a_task_that_overruns_is_killed_and_the_pool_goes_on() -> None:
    pool = Offload("tested", 1, tasks=100, seconds=2)
    with pytest.raises(TaskKilledError, match="^late$"):
        await pool.run(_sleep, 60)
    assert await pool.run(_add, 1, 1) == 2
    await pool.close()


async def test_a_task_whose_process_dies_each_time_fails_alone_and_is_not_to_blame(pool: Offload) -> None:
    with pytest.raises(BadGateway):
        await pool.run(die)
    assert await pool.run(_add, 1, 1) == 2


async def test_a_process_that_dies_idle_is_replaced_before_anyone_asks(pool: Offload) -> None:
    pid = await pool.run(os.getpid)
    died = Change("quartet_workers_killed_total", pool="tested", reason="died")
    os.kill(pid, signal.SIGKILL)
    await until(lambda: died.by == 1 and pool.works)
    assert await pool.run(os.getpid) != pid


async def test_a_task_that_meets_dead_processes_only_is_done_all_the_same() -> None:
    pool = Offload("tested", 2, tasks=100, seconds=30)
    pids = set(await asyncio.gather(*(pool.run(_pid_after, 0.5) for _ in range(2))))
    assert len(pids) == 2
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert await pool.run(_add, 1, 1) == 2
    await pool.close()


async def test_a_task_whose_process_was_killed_from_outside_is_done_by_another(pool: Offload, tmp_path: Path) -> None:
    task = asyncio.create_task(pool.run(_wait_if_first, str(tmp_path)))
    await until(lambda: os.listdir(tmp_path))
    os.kill(int(os.listdir(tmp_path)[0]), signal.SIGKILL)
    assert await task == "done"


async def test_the_death_of_one_process_leaves_the_task_of_another_alone() -> None:
    pool = Offload("tested", 2, tasks=100, seconds=30)
    other = asyncio.create_task(pool.run(_pid_after, 2))
    await asyncio.sleep(0.5)
    os.kill(await pool.run(os.getpid), signal.SIGKILL)
    await other
    await pool.close()


async def test_the_process_that_others_are_forked_from_may_die(pool: Offload) -> None:
    pid = await pool.run(os.getppid)
    os.kill(pid, signal.SIGKILL)
    assert await pool.run(_add, 1, 1) == 2


async def test_a_process_is_renewed_after_its_tasks_without_being_counted() -> None:
    pool = Offload("renewed", 1, tasks=2, seconds=30)
    pids = [await pool.run(os.getpid) for _ in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]
    await pool.close()
    assert total("quartet_workers_killed_total", pool="renewed") == 0


async def test_a_pool_whose_processes_cannot_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offload, "_START_SECONDS", 3.0)
    pool = Offload("tested", 1, tasks=2, seconds=30, prepare=die)
    before = pool.works
    with pytest.raises(BadGateway):
        await pool.run(_add, 1, 1)
    assert (before, pool.works) == (True, False)
    await pool.close()


async def test_every_process_that_ends_with_its_task_is_counted_by_its_reason() -> None:
    pool = Offload("counted", 1, tasks=100, seconds=1.0)
    killed = {name: Change("quartet_workers_killed_total", pool="counted", reason=name) for name in _REASONS}
    with pytest.raises(TaskKilledError):
        await pool.run(_sleep, 60)
    with pytest.raises(BadGateway):
        await pool.run(die)
    gone = asyncio.create_task(pool.run(_sleep, 60))
    await asyncio.sleep(0.5)
    gone.cancel()
    await until(lambda: {name: change.by for name, change in killed.items()} == {"late": 1, "died": 2, "hung_up": 1})
    await pool.close()


async def test_a_worker_has_a_bound_on_its_memory(pool: Offload) -> None:
    assert await pool.run(_allocate, 2**20) == 2**20
    with pytest.raises(TaskKilledError, match="^memory$"):
        await pool.run(_allocate, 5 * 2**30)


async def test_a_task_that_is_cancelled_is_killed_and_leaves_its_worker_to_the_next() -> None:
    pool = Offload("tested", 1, tasks=100, seconds=600)
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


def _counts() -> int:
    from frontend.observe.metrics import LOG_DROPPED

    LOG_DROPPED.inc()
    return os.getpid()


async def _count_in_a_worker() -> None:
    pool = Offload("tested", 1, tasks=100, seconds=30)
    pid = await pool.run(_counts)
    await pool.close()
    assert not any(name.endswith(f"_{pid}.db") for name in os.listdir(os.environ[METRICS_FOLDER]))


def _run(function: str, **variables: str) -> None:
    """Call one of these in a process that has started no worker yet."""
    code = f"import asyncio; from {__name__} import {function}; asyncio.run({function}())"
    environ = {**os.environ, **variables}
    subprocess.run([sys.executable, "-c", code], env=environ, cwd=Path(__file__).parents[3], check=True, timeout=60)


def test_a_worker_of_one_of_several_frontends_counts_in_no_file_of_theirs(tmp_path: Path) -> None:
    _run("_count_in_a_worker", **{METRICS_FOLDER: str(tmp_path)})
    assert os.listdir(tmp_path)


def _is_imported(module: str) -> bool:
    return module in sys.modules


async def _look_for_a_module() -> None:
    import_once(["frontend.text.phonemes"])
    pool = Offload("tested", 1, tasks=100, seconds=30)
    assert await pool.run(_is_imported, "frontend.text.phonemes")
    assert not await pool.run(_is_imported, "frontend.audio.prepare")
    await pool.close()


def test_workers_begin_with_what_was_imported_once() -> None:
    _run("_look_for_a_module")
