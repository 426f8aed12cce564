"""A child process in its own session, which leaves nothing behind however it or its parent ends."""

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
    """Ask the kernel to send this process SIGTERM when its parent dies."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def start_child(
    command: Sequence[str], environment: Mapping[str, str], log: Path, files: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Run ``command`` in its own session, which a terminal's Ctrl-C does not reach. Append its output to ``log``.

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


def hide_argument(pid: int, text: str) -> None:
    """Overwrite a text in the command line of a child, which every user of the machine can read."""
    # The places of the first and the last byte, as proc(5) numbers them: the first two fields are cut off.
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    start, end = (int(fields[number - 3]) for number in (48, 49))
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(start)
        words = memory.read(end - start)
        memory.seek(start)
        memory.write(words.replace(text.encode(), b"x" * len(text.encode())))


def stop_child(process: subprocess.Popen[bytes], seconds: float, number: signal.Signals = signal.SIGTERM) -> None:
    """End a child by a signal, kill it after ``seconds``, and then kill the rest of its process group."""
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
    """The command lines of all processes, with spaces between the words."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        # Processes may end meanwhile.
        with suppress(OSError):
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found


def ended_children(pid: int) -> set[int]:
    """Children of the process ``pid`` that ended and that it has not waited for (zombies)."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        # Processes may end meanwhile.
        with suppress(OSError):
            state, parent = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:2]
            if (state, int(parent)) == ("Z", pid):
                found.add(int(path.parent.name))
    return found


def waiting_threads(pid: int) -> set[int]:
    """Threads of the process ``pid`` that wait for the end of a child. None are seen without the right to trace it."""
    found = set()
    for path in Path(f"/proc/{pid}/task").glob("[0-9]*/wchan"):
        # Threads may end meanwhile.
        with suppress(OSError):
            if path.read_text(encoding="ascii") == "do_wait":
                found.add(int(path.parent.name))
    return found
