"""Nothing is left behind: no process, no port, no shared-memory file, however the product ends."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts.local_triton.checks import free_port
from tests.conftest import ROOT

pytestmark = pytest.mark.triton

_READY_SECONDS = 90
_GONE_SECONDS = 40


def _start(port: int, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        run = subprocess.Popen(
            [sys.executable, "-m", "scripts.run", "--port", str(port)],
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _wait_until_ready(run, log)
    return run


def _wait_until_ready(run: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while b"Ctrl-C stops" not in log.read_bytes():
        assert run.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def _left(family: dict[int, str]) -> list[str]:
    """Which of these processes are still there after a while."""
    deadline = time.monotonic() + _GONE_SECONDS
    while (left := [command for pid, command in family.items() if _alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def test_the_product_ends_with_its_caller(tmp_path: Path) -> None:
    """As when 'make run' is killed: nobody is left to press Ctrl-C."""
    port = free_port()
    command = [sys.executable, "-m", "scripts.run", "--end-with-parent", "--port", str(port)]
    code = f"import subprocess; subprocess.run({command!r})"
    log = tmp_path / "log"
    with log.open("wb") as output:
        caller = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
    _wait_until_ready(caller, log)
    family = _family(caller.pid)
    caller.kill()
    caller.wait()
    assert _left(family) == []


def _family(root: int) -> dict[int, str]:
    """The process ``root`` and everything it started, with command lines."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
    family = {root}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return {pid: Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode() for pid in family}


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _shared_memory() -> set[str]:
    return {path.name for path in Path("/dev/shm").glob("quartet_*")}


@pytest.mark.parametrize("end", ["ctrl-c", "terminate", "kill triton", "kill frontend", "kill supervisor"])
def test_nothing_is_left(end: str, tmp_path: Path) -> None:
    shared_before = _shared_memory()
    port = free_port()
    run = _start(port, tmp_path / "log")
    family = _family(run.pid)
    assert len(family) > 10
    victims = {"kill triton": "bin/tritonserver", "kill frontend": "frontend serve"}
    if end in victims:
        victim = next(pid for pid, command in family.items() if victims[end] in command)
        os.kill(victim, signal.SIGKILL)
    else:
        signals = {"ctrl-c": signal.SIGINT, "terminate": signal.SIGTERM, "kill supervisor": signal.SIGKILL}
        os.kill(run.pid, signals[end])
    status = run.wait(_GONE_SECONDS)
    assert _left(family) == []
    assert _shared_memory() <= shared_before
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
    assert status == {"ctrl-c": 0, "terminate": 0, "kill supervisor": -signal.SIGKILL}.get(end, 1)
