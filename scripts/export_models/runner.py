"""Runs the export of one model in a process of its own, and ends it.

The work is done in another process because compiled code hears of no signal until it returns: this one hears of it, and
kills that one. It watches its memory too: the kernel's own limits count mapped files or end in whatever library meets
them first.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import Pipe
from pathlib import Path
from types import FrameType

from scripts.export_models import plan
from scripts.export_models.checkpoints import in_words
from scripts.export_models.progress_line import ProgressLine
from scripts.export_models.ways import Exported
from scripts.local_triton.child import start_child, stop_child
from scripts.machine import held_bytes, processors

_TICK_SECONDS = 0.2
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


def run(model: str, arguments: Sequence[str], log: Path, line: ProgressLine) -> Exported | str:
    """Export a ``model`` under the command's ``arguments``: what came of it, or why nothing did."""
    reader, writer = Pipe(duplex=False)
    command = [sys.executable, "-m", "scripts.export_models.worker", model, str(writer.fileno()), *arguments]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(processors()))
    # Threads that turn in circles while they wait take four times as long where something else runs too.
    threads["OMP_WAIT_POLICY"] = "PASSIVE"
    process = start_child(command, os.environ | threads, log, [writer.fileno()])
    writer.close()
    try:
        while True:
            line.tick()
            if held_bytes("RssAnon", process.pid) > plan.most_memory(model):
                return f"the export took more than {in_words(plan.most_memory(model))} of memory"
            if not reader.poll(_TICK_SECONDS):
                continue
            kind, *told = reader.recv()
            if kind == "ended":
                outcome: Exported | str = told[0]
                return f"{outcome} (more in {log})" if isinstance(outcome, str) else outcome
            if kind == "note":
                line.note(model, *told)
            else:
                line.step(model, *told)
    except EOFError:
        return f"{_why_ended(process)} (more in {log})"
    finally:
        # With all that it started.
        stop_child(process, 0)
        reader.close()


def _why_ended(process: subprocess.Popen[bytes]) -> str:
    """Why a process ended that has no more to tell."""
    status = process.wait()
    if status == -signal.SIGKILL:
        return "its process was killed: there was not enough memory, or someone ended it"
    return f"its process ended with status {status}"
