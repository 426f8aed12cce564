"""Several workers count in one folder: nothing is lost when one dies, nothing counted twice, and no file is left."""

import fcntl
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from frontend.observe import METRICS_FOLDER
from frontend.observe.exposition import _locked, forget_process
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
