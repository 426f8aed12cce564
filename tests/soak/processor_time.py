"""Who uses the processors, and which: the models, the frontends, or the callers."""

import os
from collections.abc import Collection
from contextlib import suppress

import psutil


def processor_seconds() -> dict[str, float]:
    """Seconds of processor time so far, of this process and all that it started.

    ``models`` are Triton and its processes, ``workers`` are the frontends' processes for audio and text, and
    ``callers`` are the rest.
    """
    own = psutil.Process()
    used = {"models": 0.0, "frontends": 0.0, "workers": 0.0, "callers": _seconds(own)}
    for child in own.children():
        # One that has ended is counted with its parent.
        with suppress(psutil.NoSuchProcess):
            kind = _kind(child)
            used[kind] += _seconds(child)
            below = sum(map(_seconds, child.children(recursive=True)))
            used["workers" if kind == "frontends" else kind] += below
    return used


def use(processors: Collection[int]) -> None:
    """Let this process use these processors, and all below it but the models."""
    own = psutil.Process()
    others = [child for child in own.children() if _kind(child) != "models"]
    for process in [own, *others, *(each for child in others for each in child.children(recursive=True))]:
        for thread in process.threads():
            # Some end meanwhile.
            with suppress(ProcessLookupError):
                os.sched_setaffinity(thread.id, processors)


def _kind(child: psutil.Process) -> str:
    given = " ".join(child.cmdline())
    return "models" if "--model-repository" in given else "frontends" if "-m frontend" in given else "callers"


def _seconds(process: psutil.Process) -> float:
    # With the children that have ended.
    return sum(process.cpu_times()[:4])
