"""Several workers count in one folder; what a store is asked is timed; the table of metrics is whole."""

import asyncio
import fcntl
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from frontend.observe import METRICS_FOLDER
from frontend.observe.exposition import _locked, forget_process
from frontend.observe.metrics import GROUPS
from frontend.observe.stores import asking_redis
from frontend.observe.table import LABELS
from tests.conftest import ROOT

_WORKER = """
import sys
from frontend.observe.metrics import CONNECTIONS, CONNECTIONS_REFUSED, LOOP_DELAY_SECONDS
CONNECTIONS_REFUSED.inc(5)
CONNECTIONS.set(7)
LOOP_DELAY_SECONDS.observe(0.003)
print(flush=True)
sys.stdin.read()
"""
_READ = "import sys; from frontend.observe.exposition import metrics; sys.stdout.buffer.write(metrics())"


def _environ(folder: Path) -> dict[str, str]:
    return {**os.environ, METRICS_FOLDER: str(folder)}


@contextmanager
def _worker(folder: Path) -> Iterator[int]:
    """One that has counted; at the end it is killed and reaped."""
    command = [sys.executable, "-c", _WORKER]
    with subprocess.Popen(
        command, cwd=ROOT, env=_environ(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


def _dead_worker(folder: Path) -> int:
    with _worker(folder) as pid:
        return pid


def _read(folder: Path) -> dict[str, float]:
    command = [sys.executable, "-c", _READ]
    text = subprocess.run(command, cwd=ROOT, env=_environ(folder), capture_output=True, text=True, check=True).stdout
    return {name: float(number) for name, number in re.findall(r"^(quartet\S+) (\S+)$", text, re.MULTILINE)}


def _told(folder: Path) -> tuple[float, float, float]:
    """Refused connections, timers of at most 5 ms, open connections."""
    read = _read(folder)
    names = (
        "quartet_connections_refused_total",
        'quartet_loop_delay_seconds_bucket{le="0.005"}',
        "quartet_connections",
    )
    return tuple(read.get(name, 0.0) for name in names)  # type: ignore[return-value]


def test_what_dead_workers_counted_stays_and_what_they_held_goes(tmp_path: Path) -> None:
    with _worker(tmp_path) as living:
        dead = [_dead_worker(tmp_path) for _ in range(2)]
        assert _told(tmp_path) == (15, 3, 21)
        for pid in dead:
            forget_process(pid, str(tmp_path))
        assert _told(tmp_path) == (15, 3, 7)
        left = {path.name for path in tmp_path.glob("counter_*")}
        # Whoever reads counts too, and is dead.
        assert {f"counter_{living}.db", "counter_0.db"} <= left
        assert not left & {f"counter_{pid}.db" for pid in dead}


def test_while_somebody_reads_nothing_is_moved_and_nothing_waits(tmp_path: Path) -> None:
    pid = _dead_worker(tmp_path)
    with _locked(tmp_path, fcntl.LOCK_SH):
        forget_process(pid, str(tmp_path))
        assert (tmp_path / f"counter_{pid}.db").exists()
    forget_process(pid, str(tmp_path))
    assert not (tmp_path / f"counter_{pid}.db").exists()
    assert _told(tmp_path)[0] == 5


def test_files_do_not_pile_up(tmp_path: Path) -> None:
    for number in range(1, 21):
        # No process has it: the largest there can be is less.
        pid = 2**22 + number
        for kind in ("counter", "histogram", "gauge_livesum"):
            (tmp_path / f"{kind}_{pid}.db").write_bytes(bytes([8]) + bytes(65535))
        forget_process(pid, str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 3


async def _lose_it() -> None:
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(60)


async def _fail_for_it() -> None:
    await _lose_it()
    raise TimeoutError


@pytest.mark.parametrize("question", [_lose_it, _fail_for_it])
async def test_a_cancellation_that_a_question_loses_leaves_it_all_the_same(
    question: Callable[[], Awaitable[None]],
) -> None:
    async def ask() -> None:
        with suppress(TimeoutError), asking_redis("locks"):
            await question()

    asking = asyncio.create_task(ask())
    await asyncio.sleep(0.01)
    asking.cancel()
    await asyncio.wait([asking])
    assert asking.cancelled()


async def test_who_was_cancelled_before_may_ask_to_its_end() -> None:
    asked = []

    async def clean_up() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            with asking_redis("locks"):
                await asyncio.sleep(0)
            asked.append("released")

    cleaning = asyncio.create_task(clean_up())
    await asyncio.sleep(0.01)
    cleaning.cancel()
    await asyncio.wait([cleaning])
    assert asked == ["released"]


async def test_a_timeout_around_a_question_that_loses_it_is_a_timeout() -> None:
    async def ask() -> None:
        async with asyncio.timeout(0.01):
            with asking_redis("locks"):
                await _lose_it()

    with pytest.raises(TimeoutError):
        await ask()


_ROWS = [row for group in GROUPS for row in group.rows]


def test_every_label_is_explained_and_every_explained_one_is_used() -> None:
    assert {label for row in _ROWS for label in row.labels} == LABELS.keys()


def test_names_are_quartets_and_end_as_prometheus_has_it() -> None:
    assert all(row.name.startswith("quartet_") for row in _ROWS)
    assert [row.name for row in _ROWS if (row.type == "counter") != row.name.endswith("_total")] == []
    assert [row.name for row in _ROWS if row.unit in ("seconds", "bytes") and row.unit not in row.name] == []
