"""Programs of siblings in processes of their own: each line that one writes has its process id and a word."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector

from tests.conftest import ROOT
from tests.signals import signals

_PROGRAM = """
import os, signal, socket, subprocess, sys, time
from frontend.processes.siblings import Siblings

def say(word):
    os.write(1, f"{{os.getpid()}} {{word}}\\n".encode())

def serve(death):
{serve}

# The background jobs of a shell ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(Siblings({count}, [socket.socket()], serve).run())
"""
_WAITS = """
    say(death and death.code)
    time.sleep(100)
"""
_ENDS_AT_A_SECOND_SIGNAL = """
    received = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: received.append(number))
    say("")
    while len(received) < 2:
        time.sleep(0.1)
        if len(received) == 1:
            say("one")
"""


class _Family:
    """The parent, and what its children have said."""

    def __init__(self, process: "subprocess.Popen[bytes]", output: Path) -> None:
        self.process, self._output = process, output

    def said(self, count: int) -> list[tuple[int, str]]:
        """The first ``count`` lines, as soon as they are there."""
        until(lambda: self._output.read_bytes().count(b"\n") >= count)
        lines = self._output.read_text(encoding="utf-8").splitlines()[:count]
        return [(int(pid), word) for pid, _, word in (line.partition(" ") for line in lines)]


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@contextmanager
def family(folder: Path, serve: str = _WAITS, count: int = 2) -> Iterator[_Family]:
    program = _PROGRAM.format(serve=serve, count=count)
    (folder / "metrics").mkdir()
    environ = {**os.environ, "TMPDIR": str(folder / "metrics")}
    with (
        (folder / "said").open("wb") as output,
        subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, env=environ, stdout=output) as process,
    ):
        try:
            yield _Family(process, folder / "said")
        finally:
            process.kill()


def test_a_child_that_dies_is_started_again_with_pauses_that_grow_and_the_others_stay(tmp_path: Path) -> None:
    with family(tmp_path, "    say(f'{death.code} {death.pause}' if death else '')\n    time.sleep(100)") as siblings:
        (victim, _), (other, _) = siblings.said(2)
        began = time.monotonic()
        for count, word in enumerate(["-9 0.0", "-9 1.0", "-9 2.0"], 3):
            os.kill(victim, signal.SIGKILL)
            victim, said = siblings.said(count)[-1]
            assert said == word
        assert time.monotonic() - began > 3
        assert runs(other)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_each_child_and_ends_the_parent_when_all_have_ended(
    tmp_path: Path, number: signal.Signals
) -> None:
    serve = """
    def end(number, frame):
        time.sleep(0.5)
        say(number)
        sys.exit(3)
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    say("")
    while True:
        time.sleep(1)
"""
    with family(tmp_path, serve) as siblings:
        children = {pid for pid, _ in siblings.said(2)}
        siblings.process.send_signal(number)
        assert siblings.process.wait(20) == 0
        assert {(pid, word) for pid, word in siblings.said(4)[2:]} == {(pid, str(int(number))) for pid in children}
    assert list((tmp_path / "metrics").iterdir()) == []


def test_a_second_signal_reaches_them_too_and_gives_the_exit_status(tmp_path: Path) -> None:
    with family(tmp_path, _ENDS_AT_A_SECOND_SIGNAL) as siblings:
        siblings.said(2)
        siblings.process.send_signal(signal.SIGTERM)
        siblings.said(3)
        siblings.process.send_signal(signal.SIGINT)
        assert siblings.process.wait(20) == 128 + signal.SIGINT


def test_a_second_signal_reaches_a_child_that_has_not_handled_the_first(tmp_path: Path) -> None:
    with family(tmp_path, _ENDS_AT_A_SECOND_SIGNAL, 1) as siblings:
        ((child, _),) = siblings.said(1)
        os.kill(child, signal.SIGSTOP)
        until(lambda: psutil.Process(child).status() == psutil.STATUS_STOPPED)
        siblings.process.send_signal(signal.SIGTERM)
        until(lambda: signals(child, "ShdPnd") == {signal.SIGTERM})
        siblings.process.send_signal(signal.SIGTERM)
        until(lambda: signals(child, "ShdPnd") == {signal.SIGTERM, signal.SIGINT})
        os.kill(child, signal.SIGCONT)
        assert siblings.process.wait(20) == 128 + signal.SIGTERM


def test_a_first_start_that_fails_ends_all(tmp_path: Path) -> None:
    # One of the two fails, when the other serves.
    serve = """
    try:
        os.mkdir({failed!r})
    except FileExistsError:
        say("")
        os.mkdir({serves!r})
        time.sleep(100)
    while not os.path.isdir({serves!r}):
        time.sleep(0.01)
    return 2
"""
    with family(tmp_path, serve.format(failed=f"{tmp_path}/failed", serves=f"{tmp_path}/serves")) as siblings:
        ((pid, _),) = siblings.said(1)
        assert siblings.process.wait(20) == 2
        assert not runs(pid)


def test_a_later_start_that_fails_is_tried_again(tmp_path: Path) -> None:
    serve = "    say(death and death.code)\n    if not death: time.sleep(100)\n    return 2"
    with family(tmp_path, serve) as siblings:
        (victim, _), (other, _) = siblings.said(2)
        os.kill(victim, signal.SIGKILL)
        assert [word for _, word in siblings.said(5)[2:]] == ["-9", "2", "2"]
        assert runs(other)


def test_children_end_when_their_parent_was_killed(tmp_path: Path) -> None:
    with family(tmp_path) as siblings:
        children = siblings.said(2)
        siblings.process.kill()
        until(lambda: not any(runs(pid) for pid, _ in children))


def test_what_a_child_has_started_ends_with_it(tmp_path: Path) -> None:
    with family(tmp_path, "    say(subprocess.Popen(['sleep', '60']).pid)\n    time.sleep(100)", 1) as siblings:
        ((pid, started),) = siblings.said(1)
        os.kill(pid, signal.SIGKILL)
        until(lambda: not runs(int(started)))


def test_a_child_continues_the_counts_of_the_one_before_and_not_its_gauges(tmp_path: Path) -> None:
    serve = """
    gauges = os.listdir(os.environ["PROMETHEUS_MULTIPROC_DIR"])
    from frontend.observe import metrics
    metrics.SPANS_LOST.inc()
    metrics.CONNECTIONS.inc()
    say([name for name in gauges if "_livesum_" in name])
    time.sleep(100)
"""
    with family(tmp_path, serve, 1) as siblings:
        siblings.said(1)
        (folder,), registry = (tmp_path / "metrics").iterdir(), CollectorRegistry()
        MultiProcessCollector(registry, path=str(folder))  # type: ignore[no-untyped-call]
        for count in (1, 2):
            pid, gauges = siblings.said(count)[-1]
            assert gauges == "[]"
            assert registry.get_sample_value("quartet_spans_lost_total") == count
            assert registry.get_sample_value("quartet_connections") == 1
            os.kill(pid, signal.SIGKILL)
        assert len(list(folder.glob("counter_*"))) == 1
