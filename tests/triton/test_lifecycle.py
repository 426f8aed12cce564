"""Nothing is left behind: no process, no port, no shared-memory file, however the product ends."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from scripts.local_triton.checks import free_port
from tests.conftest import ROOT
from tests.frontends import named

pytestmark = pytest.mark.triton

# Of the models, one is enough to see whether its processes end.
_MODELS = "embed-m3"
_READY_SECONDS = 90
_GONE_SECONDS = 40


def _product(port: int, folder: Path) -> list[str]:
    return [sys.executable, "-m", "scripts.run", "--port", str(port), "--state", str(folder / "state")]


def _start(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Until the product is ready."""
    with log.open("wb") as output:
        run = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **named(MODELS=_MODELS)},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + _READY_SECONDS
    while b"Ctrl-C stops" not in log.read_bytes():
        assert run.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)
    return run


def _left(family: dict[int, str]) -> list[str]:
    """Which of these processes are still there after a while."""
    deadline = time.monotonic() + _GONE_SECONDS
    while (left := [command for pid, command in family.items() if _alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def _family(root: int) -> dict[int, str]:
    """The process ``root`` and everything it started, with command lines."""
    process, found = psutil.Process(root), {}
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            found[each.pid] = " ".join(each.cmdline())
    return found


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _shared_memory(family: dict[int, str]) -> set[str]:
    """Files named after one of these processes; other products may run at the same time."""
    return {path.name for pid in family for path in Path("/dev/shm").glob(f"quartet_{pid}_*")}


def _kill(family: dict[int, str], words: str) -> None:
    os.kill(next(pid for pid, command in family.items() if words in command), signal.SIGKILL)


def _embeds(tmp_path: Path, port: int) -> bool:
    """Whether a text gets its vector, with the key that the log shows."""
    key = re.search(rb"qk_\w+", (tmp_path / "log").read_bytes())
    assert key is not None
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/embeddings",
        data=b'{"input": "a"}',
        headers={"Authorization": f"Bearer {key[0].decode()}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_a_dead_part_is_restarted_and_nothing_is_left_when_the_caller_is_killed(tmp_path: Path) -> None:
    """As when 'make run' is killed: nobody is left to press Ctrl-C."""
    port = free_port()
    code = f"import subprocess; subprocess.run({[*_product(port, tmp_path), '--end-with-parent']!r})"
    caller = _start([sys.executable, "-c", code], tmp_path / "log")
    family = _family(caller.pid)
    assert len(family) > 5
    assert _shared_memory(family)
    for victim in ("bin/tritonserver", "frontend serve"):
        _kill(family, victim)
        assert _left({pid: command for pid, command in family.items() if victim in command}) == []
        deadline = time.monotonic() + _READY_SECONDS
        while not _embeds(tmp_path, port):
            assert time.monotonic() < deadline, victim
            time.sleep(0.2)
        family |= _family(caller.pid)
    caller.kill()
    caller.wait()
    assert _left(family) == []
    assert "stopping: requests in flight are finished" in (tmp_path / "log").read_text(encoding="utf-8")
    assert _shared_memory(family) == set()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_nothing_is_left_of_a_product_that_was_killed(tmp_path: Path) -> None:
    run = _start(_product(free_port(), tmp_path), tmp_path / "log")
    family = _family(run.pid)
    run.kill()
    run.wait(_GONE_SECONDS)
    assert _left(family) == []
    assert _shared_memory(family) == set()
