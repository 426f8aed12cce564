"""Runs the processes of an export side by side, and ends them all at once.

The work is done in processes of their own because compiled code hears of no signal until it returns: this process
hears of it, and kills them.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType

from scripts.export_models.progress_line import ProgressLine
from scripts.export_models.ways import Exported
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
        self.job, self.log = job, log
        threads = {name: str(job.threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        # Threads that turn in circles while they wait take four times as long where something else runs too.
        threads["OMP_WAIT_POLICY"] = "PASSIVE"
        command = [sys.executable, "-m", "scripts.export_models.worker", job.written(), str(writer.fileno())]
        self._process = start_child(command, os.environ | threads, log, [writer.fileno()])
        writer.close()

    def kill(self) -> None:
        """End it with all that it started."""
        stop_child(self._process, 0)
        self.reader.close()

    def why_ended(self) -> str:
        """Why a process ended that has no more to tell."""
        self.reader.close()
        status = self._process.wait()
        if status == -signal.SIGKILL:
            return "its process was killed: there was not enough memory, or someone ended it"
        return f"its process ended with status {status}"


def run(jobs: Sequence[Job], logs: Path, line: ProgressLine) -> dict[str, Exported | str]:
    """Export the models of ``jobs``, which run side by side: of each model what came of it, or why nothing did."""
    logs.mkdir(parents=True, exist_ok=True)
    processes: dict[Connection, _Process] = {}
    found: dict[str, Exported | str] = {}

    def start(job: Job, log: Path) -> None:
        process = _Process(job, log)
        processes[process.reader] = process

    def end(model: str, outcome: Exported | str) -> None:
        found[model] = outcome
        line.ended(model, outcome if isinstance(outcome, str) else "")

    try:
        for at, job in enumerate(jobs):
            log = logs / f"export-{at}.log"
            log.unlink(missing_ok=True)
            start(job, log)
        while processes:
            line.tick()
            for reader in wait(list(processes), _TICK_SECONDS):
                assert isinstance(reader, Connection)
                try:
                    kind, model, *rest = reader.recv()
                except EOFError:
                    process = processes.pop(reader)
                    reason = process.why_ended()
                    left = {name: its for name, its in process.job.fingerprints.items() if name not in found}
                    if left:
                        # The one that it was at has ended it; a new process goes on with the others.
                        model = next(iter(left))
                        end(model, f"{reason} (more in {process.log})")
                        del left[model]
                    if left:
                        start(replace(process.job, fingerprints=left), process.log)
                    continue
                if kind == "finished":
                    end(model, rest[0])
                elif kind == "failed":
                    end(model, f"{rest[0]} (more in {processes[reader].log})")
                else:
                    line.heard((kind, model, *rest))
    finally:
        for process in processes.values():
            process.kill()
        line.close()
    return found
