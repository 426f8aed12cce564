"""A child process with a session of its own, which leaves nothing behind however it or its parent ends."""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_SWEEP_SECONDS = 5


def die_with_parent() -> None:
    """Ask the kernel to end this process with SIGTERM when its parent dies, so that nothing is left behind."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def start_child(
    command: Sequence[str], environment: Mapping[str, str], log: Path, files: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Run ``command`` in a session of its own, out of reach of a terminal's Ctrl-C; its output goes behind ``log``.

    It inherits the open ``files``.
    """
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=files,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )


def stop_child(process: subprocess.Popen[bytes], seconds: float, number: signal.Signals = signal.SIGTERM) -> None:
    """End a child by a signal, by force after ``seconds``, and then what it left behind in its process group."""
    if process.poll() is None:
        process.send_signal(number)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    deadline = time.monotonic() + _SWEEP_SECONDS
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        time.sleep(0.02)


def commands() -> list[str]:
    """The command lines of the processes that run, with spaces between the words."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        # Others come and go meanwhile.
        with suppress(OSError):
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found


def ended_children(pid: int) -> set[int]:
    """Processes that the process ``pid`` started, that have ended, and that it has not asked about."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        # Others come and go meanwhile.
        with suppress(OSError):
            state, parent = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:2]
            if (state, int(parent)) == ("Z", pid):
                found.add(int(path.parent.name))
    return found
