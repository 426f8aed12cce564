"""The parent of the workers restarts, counts and ends them; its sockets, shared counts and pauses."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from frontend.config.settings import Settings
from frontend.processes.pauses import Pauses
from frontend.processes.sockets import bind
from frontend.processes.worker import Descriptors, SharedStatus, Worker, WorkerCounts
from scripts.local_triton.checks import free_port
from tests.conftest import ROOT

_PARENT = """
import sys
from frontend.config.settings import Settings
from frontend.processes.workers import Workers
sys.exit(Workers(Settings(port=0), [sys.executable, "-c", sys.argv[1]], Settings).run())
"""
# Reports that it accepts. Then it prints the parent's counts a few times a second, and a counter and a gauge that it
# increased once. SIGUSR1 ends it as a worker that cannot start.
_WORKER = """
import dataclasses, json, os, signal, struct, sys, time
from frontend.observe.metrics import CONNECTIONS, CONNECTIONS_REFUSED
from frontend.processes.worker import SharedStatus, Start
signal.signal(signal.SIGUSR1, lambda *_: os._exit(2))
start = Start.read(int(sys.argv[1]))
CONNECTIONS.inc()
CONNECTIONS_REFUSED.inc()
values = {"counter": CONNECTIONS_REFUSED._value.get(), "gauge": CONNECTIONS._value.get()}
os.write(start.descriptors.started, b"%d " % os.getpid())
while os.getppid() > 1:
    time.sleep(0.1)
    try:
        counts = SharedStatus(start.descriptors.status).read()
    except struct.error:
        continue
    print(json.dumps({"pid": os.getpid(), **values, **dataclasses.asdict(counts)}), flush=True)
"""


class _Parent:
    """A process with one worker."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def report_of_another_than(self, pid: int) -> dict[str, Any]:
        """The next report of a worker while it accepts."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + 60
        for line in self.process.stdout:
            report: dict[str, Any] = json.loads(line)
            if report["pid"] != pid and report["accepting"]:
                return report
            assert time.monotonic() < deadline
        raise AssertionError("the parent has ended")

    def report_after_a_death(self, number: signal.Signals = signal.SIGKILL) -> dict[str, Any]:
        """The next report after the worker was killed."""
        pid = int(self.report_of_another_than(0)["pid"])
        os.kill(pid, number)
        return self.report_of_another_than(pid)


@contextmanager
def _parent_of(worker: str) -> Iterator[_Parent]:
    command = [sys.executable, "-c", _PARENT, worker]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        yield _Parent(process)
        process.terminate()


@pytest.fixture
def parent() -> Iterator[_Parent]:
    with _parent_of(_WORKER) as running:
        yield running


def test_a_killed_worker_is_restarted_and_does_not_count_as_accepting_meanwhile(parent: _Parent) -> None:
    report = parent.report_after_a_death()
    assert [report[name] for name in ("wanted", "accepting", "failing", "restarts")] == [1, 1, 0, 1]


def test_a_killed_worker_leaves_its_counters_and_not_its_gauges(parent: _Parent) -> None:
    report = parent.report_after_a_death()
    assert (report["counter"], report["gauge"]) == (2, 1)


def test_a_worker_that_has_run_is_restarted_whatever_its_exit_code(parent: _Parent) -> None:
    assert parent.report_after_a_death(signal.SIGUSR1)["restarts"] == 1


def test_a_worker_that_cannot_start_ends_its_parent_at_the_first_start() -> None:
    with _parent_of("import sys; sys.exit(2)") as parent:
        assert parent.process.wait(60) == 2


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


def test_the_child_processes_of_a_worker_end_with_it(tmp_path: Path) -> None:
    note = tmp_path / "child"
    code = f"import subprocess; open({str(note)!r}, 'w').write(str(subprocess.Popen(['sleep', '60']).pid))"
    worker = Worker([sys.executable, "-c", code], Settings(), Descriptors(*[-1] * 5), str(tmp_path), 0)
    _wait_for(lambda: worker.exit_code() is not None)
    _wait_for(lambda: not _runs(int(note.read_text(encoding="utf-8"))))


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
