"""The parent of workers: what becomes of one that dies is mended, counted and forgotten."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from frontend.config.settings import Settings
from frontend.processes.worker import Descriptors, Worker
from tests.conftest import ROOT

_PARENT = """
import sys
from frontend.config.settings import Settings
from frontend.processes.workers import Workers
sys.exit(Workers(Settings(port=0), [sys.executable, "-c", sys.argv[1]], Settings).run())
"""
# Says that it accepts, then a few times a second what it was told, and whose gauges there are; SIGUSR1 ends it as one
# that cannot start.
_WORKER = """
import dataclasses, json, os, signal, struct, sys, time
from pathlib import Path
from frontend.observe import METRICS_FOLDER
from frontend.observe.metrics import CONNECTIONS
from frontend.processes.status import SharedStatus
from frontend.processes.worker import Start
signal.signal(signal.SIGUSR1, lambda *_: os._exit(2))
start = Start.read(int(sys.argv[1]))
CONNECTIONS.set(7)
os.write(start.descriptors.started, b"%d " % os.getpid())
while os.getppid() > 1:
    time.sleep(0.1)
    gauges = [int(path.stem.split("_")[-1]) for path in Path(os.environ[METRICS_FOLDER]).glob("gauge_live*")]
    try:
        counts = SharedStatus(start.descriptors.status).read()
    except struct.error:
        continue
    print(json.dumps({"pid": os.getpid(), "gauges": gauges, **dataclasses.asdict(counts)}), flush=True)
"""


class _Parent:
    """A process with one worker."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def told_by_another_than(self, pid: int) -> dict[str, Any]:
        """What a worker that accepts says next."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + 60
        for line in self.process.stdout:
            told: dict[str, Any] = json.loads(line)
            if told["pid"] != pid and told["accepting"]:
                return told
            assert time.monotonic() < deadline
        raise AssertionError("the parent has ended")

    def kill_a_worker(self, number: signal.Signals = signal.SIGKILL) -> int:
        pid = int(self.told_by_another_than(0)["pid"])
        os.kill(pid, number)
        return pid


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


def test_a_worker_that_was_killed_is_started_again_and_counted(parent: _Parent) -> None:
    assert parent.told_by_another_than(parent.kill_a_worker())["restarts"] == 1


def test_what_a_killed_worker_held_is_in_no_gauge(parent: _Parent) -> None:
    killed = parent.kill_a_worker()
    assert killed not in parent.told_by_another_than(killed)["gauges"]


def test_a_killed_worker_does_not_accept_until_the_next_one_does(parent: _Parent) -> None:
    told = parent.told_by_another_than(parent.kill_a_worker())
    assert (told["wanted"], told["accepting"], told["failing"]) == (1, 1, 0)


def test_a_worker_that_cannot_start_ends_its_parent_at_the_first_start() -> None:
    with _parent_of("import sys; sys.exit(2)") as parent:
        assert parent.process.wait(60) == 2


def test_a_worker_that_has_run_is_started_again_whatever_it_ends_with(parent: _Parent) -> None:
    assert parent.told_by_another_than(parent.kill_a_worker(signal.SIGUSR1))["restarts"] == 1


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


def test_what_a_worker_has_started_ends_with_it(tmp_path: Path) -> None:
    note = tmp_path / "child"
    code = f"import subprocess; open({str(note)!r}, 'w').write(str(subprocess.Popen(['sleep', '60']).pid))"
    worker = Worker([sys.executable, "-c", code], Settings(), Descriptors(*[-1] * 5), str(tmp_path))
    _wait_for(lambda: worker.ended() is not None)
    _wait_for(lambda: not _runs(int(note.read_text(encoding="utf-8"))))
