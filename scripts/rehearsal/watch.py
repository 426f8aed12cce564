"""A command as a person at a terminal runs it, with what it says and what its processes take, from beginning to end."""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_SAMPLE_SECONDS = 0.5
_END_SECONDS = 120
_KILOBYTE = 1024


class RehearsalError(Exception):
    """The product did not do what it should; the message is one sentence."""


@dataclass(frozen=True)
class Line:
    """What was said, and when: seconds since the command began."""

    at: float
    text: str


@dataclass(frozen=True)
class Sample:
    """At a moment: bytes of memory that all processes together hold of their own, bytes of the process that holds most,
    files mapped into it included, and seconds of a processor that those alive have taken.
    """

    at: float
    own: int
    resident: int
    worked: float


def _heed_ctrl_c() -> None:
    # A shell has those that it starts in the background ignore it, and so would all that they start.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Watched:
    """``command`` in a process group of its own; its output goes to ``log`` too.

    What it appends meanwhile to ``details`` counts as said.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path, details: Path
    ) -> None:
        self.lines: list[Line] = []
        self.samples: list[Sample] = []
        self._log, self._details = log, details
        self._detailed = _size(details)
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=_heed_ctrl_c,
        )
        self._heard = threading.Condition()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._read, self._look)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for text in output:
                self._hear(text)
        with self._heard:
            self._heard.notify_all()

    def _hear(self, text: str) -> None:
        line = Line(self.seconds, text.rstrip())
        with self._heard, self._log.open("a", encoding="utf-8") as log:
            log.write(f"{line.at:8.1f} {line.text}\n")
            self.lines.append(line)
            self._heard.notify_all()

    def _look(self) -> None:
        while self._process.poll() is None:
            self.samples.append(sample(self.pid, self.seconds))
            self._read_details()
            time.sleep(_SAMPLE_SECONDS)
        self._read_details()

    def _read_details(self) -> None:
        """The whole lines that have come."""
        if _size(self._details) == self._detailed:
            return
        with self._details.open("rb") as file:
            file.seek(self._detailed)
            whole, newline, _ = file.read().rpartition(b"\n")
        self._detailed += len(whole + newline)
        for text in whole.decode().splitlines():
            self._hear(text)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self._began

    def wait_for(self, pattern: str, seconds: float) -> Line:
        """The first line that ``pattern`` is found in; ``RehearsalError`` where the command ends without it."""
        deadline, seen = time.monotonic() + seconds, 0
        while time.monotonic() < deadline:
            with self._heard:
                if seen == len(self.lines):
                    if not self._threads[0].is_alive():
                        break
                    self._heard.wait(_SAMPLE_SECONDS)
                found, seen = self.lines[seen:], len(self.lines)
            for line in found:
                if re.search(pattern, line.text):
                    return line
        last = self.lines[-1].text if self.lines else "nothing"
        raise RehearsalError(f"{self._log}: {pattern!r} was not said; the last line is: {last}")

    def interrupt(self) -> None:
        """As Ctrl-C does."""
        os.killpg(self.pid, signal.SIGINT)

    def ended(self) -> int:
        """Wait for its end; its status."""
        status = self._process.wait(_END_SECONDS)
        for thread in self._threads:
            thread.join()
        return status

    def close(self) -> None:
        """End it, however it is."""
        if self._process.poll() is None:
            self.interrupt()
            self.ended()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def sample(pid: int, at: float) -> Sample:
    """Of a process and all that come from it."""
    tree = list(_tree(pid))
    statuses = [_memory(each) for each in tree]
    own = sum(each["RssAnon"] for each in statuses)
    resident = max((sum(each.values()) for each in statuses), default=0)
    return Sample(at, own, resident, sum(map(_worked, tree)))


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for task in _read(_PROC / str(pid) / "task" / str(pid) / "children").split():
        yield from _tree(int(task))


def _memory(pid: int) -> dict[str, int]:
    found = dict.fromkeys(("RssAnon", "RssFile", "RssShmem"), 0)
    for line in _read(_PROC / str(pid) / "status").splitlines():
        name, _, value = line.partition(":")
        if name in found:
            found[name] = int(value.split()[0]) * _KILOBYTE
    return found


def _worked(pid: int) -> float:
    """Seconds of a processor, those of children that have ended included."""
    fields = _read(_PROC / str(pid) / "stat").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        # It has just ended.
        return ""
