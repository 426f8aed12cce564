"""Seconds of a processor that the processes of a product of our own have taken, by what they are, from /proc."""

import os
import time
from collections import defaultdict
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_PARENT = 1
_PER_SECOND = 1e9
# Of the frontend, the process that serves; and everything of Triton.
_SERVES, _TRITON = "-m frontend worker", "/triton"


@dataclass(frozen=True)
class Spent:
    """Between two moments that are ``seconds`` apart, seconds of a processor: of Triton with its models, of the
    frontend's event loop, threads and processes, of this process, the ``client``, and of the machine's ``others``.
    """

    seconds: float
    triton: float
    loop: float
    threads: float
    workers: float
    client: float
    others: float


class Processes:
    """The children of this process, which has started one product."""

    def __init__(self) -> None:
        self._parents = dict(_parents())
        (self._frontend,) = [pid for pid in self._below(_own()) if _SERVES in _command(pid)]
        # What each thread has taken until now.
        self._known: dict[tuple[int, int], float] = {}
        self._look()
        self._began = time.perf_counter(), time.process_time(), _machine()

    def _below(self, ancestor: int) -> Iterator[int]:
        for pid, parent in self._parents.items():
            if parent == ancestor:
                yield pid
                yield from self._below(pid)

    def spent(self) -> Spent:
        """Since the last time; what it takes itself to find that out belongs to no time."""
        seconds, client = time.perf_counter() - self._began[0], time.process_time() - self._began[1]
        all_of_it = _machine() - self._began[2]
        found = self._look()
        self._began = time.perf_counter(), time.process_time(), _machine()
        others = max(0.0, all_of_it - client - sum(found.values()))
        return Spent(seconds, found["triton"], found["loop"], found["threads"], found["workers"], client, others)

    def _look(self) -> defaultdict[str, float]:
        found: defaultdict[str, float] = defaultdict(float)
        self._parents = dict(_parents())
        # Those that its forkserver forked, and this itself.
        workers = set(self._below(self._frontend))
        for pid in self._below(_own()):
            is_triton = _TRITON in _command(pid)
            for thread, seconds in _threads(pid):
                kind = "triton" if is_triton else self._kind(pid, thread, workers)
                found[kind] += seconds - self._known.get((pid, thread), 0.0)
                self._known[pid, thread] = seconds
        return found

    def _kind(self, pid: int, thread: int, workers: Set[int]) -> str:
        if pid == self._frontend:
            return "loop" if thread == pid else "threads"
        return "workers" if pid in workers else "others"


def _machine() -> float:
    """What all processors have worked: user, nice, system, interrupts and what was stolen from a virtual one."""
    user, nice, system, _, _, *rest = _read(_PROC / "stat").split("\n")[0].split()[1:9]
    return sum(map(int, (user, nice, system, *rest))) / os.sysconf("SC_CLK_TCK")


def _own() -> int:
    return int((_PROC / "self").readlink().name)


def _parents() -> Iterator[tuple[int, int]]:
    for folder in _PROC.iterdir():
        if folder.name.isdigit() and (stat := _read(folder / "stat")):
            yield int(folder.name), int(stat.rpartition(")")[2].split()[_PARENT])


def _command(pid: int) -> str:
    return _read(_PROC / str(pid) / "cmdline").replace("\0", " ")


def _threads(pid: int) -> Iterator[tuple[int, float]]:
    """Each thread of a process and what it has taken; nothing where the process has just ended."""
    try:
        threads = [int(task.name) for task in (_PROC / str(pid) / "task").iterdir()]
    except OSError:
        return
    for thread in threads:
        if text := _read(_PROC / str(pid) / "task" / str(thread) / "schedstat"):
            yield thread, int(text.split()[0]) / _PER_SECOND


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
