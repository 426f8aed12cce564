"""A worker and its parent: metrics, child processes, sockets, shared counts and pauses."""

import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector

from frontend.config.settings import Settings
from frontend.processes.pauses import Pauses
from frontend.processes.sockets import bind
from frontend.processes.worker import Descriptors, SharedStatus, Worker, WorkerCounts
from scripts.local_triton.checks import free_port


def _wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def _worker(folder: Path, code: str) -> Worker:
    """A worker that has run ``code`` and ended."""
    worker = Worker([sys.executable, "-c", code], Settings(), Descriptors(*[-1] * 5), str(folder), 0)
    _wait_for(lambda: worker.exit_code() is not None)
    return worker


def test_the_child_processes_of_a_worker_end_with_it(tmp_path: Path) -> None:
    note = tmp_path / "child"
    _worker(tmp_path, f"import subprocess; open({str(note)!r}, 'w').write(str(subprocess.Popen(['sleep', '60']).pid))")
    _wait_for(lambda: not _runs(int(note.read_text(encoding="utf-8"))))


def test_a_worker_continues_the_counts_of_the_one_before_and_not_its_gauges(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(tmp_path))  # type: ignore[no-untyped-call]
    for count in (1, 2):
        _worker(tmp_path, "from frontend.observe import metrics; metrics.SPANS_LOST.inc(); metrics.CONNECTIONS.inc()")
        assert registry.get_sample_value("quartet_spans_lost_total") == count
        assert registry.get_sample_value("quartet_connections") is None
    assert len(list(tmp_path.glob("counter_*"))) == 1


def test_workers_read_the_counts_that_the_parent_wrote_last() -> None:
    status = SharedStatus.new()
    with pytest.raises(struct.error):
        status.read()
    for counts in (WorkerCounts(3), WorkerCounts(3, accepting=2, leaving=1, restarts=70_000, failing=1)):
        status.write(counts)
        assert SharedStatus(status.descriptor).read() == counts
    os.close(status.descriptor)


def test_both_ports_are_bound_and_refuse_callers_until_a_worker_listens() -> None:
    for bound in bind(Settings(port=0, admin_port=free_port())):
        with bound, socket.socket() as caller:
            assert caller.connect_ex(bound.getsockname()) != 0


def test_a_taken_port_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        bind(Settings(port=taken.getsockname()[1]))


def test_a_port_that_is_released_within_a_moment_is_bound() -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    releasing = threading.Timer(0.25, taken.close)
    releasing.start()
    (bound,) = bind(Settings(host="127.0.0.1", port=taken.getsockname()[1]))
    bound.close()
    releasing.join()


def test_pauses_between_restarts_grow_up_to_30_seconds() -> None:
    pauses = Pauses()
    assert [pauses.next(float(second)) for second in range(8)] == [0, 1, 2, 4, 8, 16, 30, 30]


def test_a_restart_after_a_quiet_minute_has_no_pause() -> None:
    pauses = Pauses()
    assert [pauses.next(second) for second in (0.0, 1.0, 61.0)] == [0, 1, 0]
