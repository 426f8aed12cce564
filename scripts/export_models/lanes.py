"""Runs the processes of an export side by side, and ends them all at once.

The work is done in processes of their own because compiled code hears of no signal until it returns: this process
hears of it, and kills them.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.graphs.parity import Check
from scripts.export_models.progress_line import ProgressLine
from scripts.export_models.worker import Job
from scripts.local_triton.child import start_child, stop_child

_TICK_SECONDS = 1.0
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StoppedError(Exception):
    """A signal asked for the end; ``number`` is its number."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def ending_signals() -> Iterator[None]:
    """Within the block a signal that asks for the end raises ``StoppedError``; no later one interrupts that end."""

    def stop(number: int, frame: FrameType | None) -> None:
        for each in ENDING_SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        before.clear()
        raise StoppedError(number)

    before = {number: signal.signal(number, stop) for number in ENDING_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Process:
    """A worker with a process group of its own, and the end of the pipe that it tells through."""

    def __init__(self, job: Job, log: Path) -> None:
        self.reader, writer = Pipe(duplex=False)
        self.log = log
        threads = {name: str(job.threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        command = [sys.executable, "-m", "scripts.export_models.worker", job.written(), str(writer.fileno())]
        log.unlink(missing_ok=True)
        self._process = start_child(command, os.environ | threads, log, [writer.fileno()])
        writer.close()

    def kill(self) -> None:
        """End it with all that it started."""
        stop_child(self._process, 0)
        self.reader.close()

    def check_end(self) -> None:
        """Wait for the end of a worker that has no more to tell, and refuse one that did not end well."""
        self.reader.close()
        status = self._process.wait()
        if status == -signal.SIGKILL:
            raise SourceError("a process of the export was killed: there was not enough memory, or someone ended it")
        if status:
            raise SourceError(f"a process of the export ended with status {status}: {self.log} says why")


def run(jobs: Sequence[Job], logs: Path, line: ProgressLine) -> list[Check]:
    """The checks of all models of ``jobs``, which run side by side; the first failure ends all with ``SourceError``."""
    logs.mkdir(parents=True, exist_ok=True)
    processes: dict[Connection, _Process] = {}
    checks: list[Check] = []
    try:
        for at, job in enumerate(jobs):
            process = _Process(job, logs / f"export-{at}.log")
            processes[process.reader] = process
        while processes:
            line.tick()
            for reader in wait(list(processes), _TICK_SECONDS):
                assert isinstance(reader, Connection)
                try:
                    event = reader.recv()
                except EOFError:
                    processes.pop(reader).check_end()
                    continue
                if event[0] == "failed":
                    raise SourceError(f"{event[1]}: {event[2]} (more in {processes[reader].log})")
                line.heard(event)
                if event[0] == "finished":
                    checks += event[2]
    finally:
        for process in processes.values():
            process.kill()
        line.close()
    return checks
