"""Who uses the processors: the models, the frontends, or the callers."""

from contextlib import suppress

import psutil


def processor_seconds() -> dict[str, float]:
    """Seconds of processor time so far, of this process and all that it started.

    ``models`` are Triton and its processes, ``frontends`` have their workers, and ``callers`` are the rest.
    """
    own = psutil.Process()
    used = {"models": 0.0, "frontends": 0.0, "callers": _seconds(own)}
    for child in own.children():
        # One that has ended is counted with its parent.
        with suppress(psutil.NoSuchProcess):
            given = " ".join(child.cmdline())
            kind = "models" if "--model-repository" in given else "frontends" if "-m frontend" in given else "callers"
            used[kind] += sum(map(_seconds, [child, *child.children(recursive=True)]))
    return used


def _seconds(process: psutil.Process) -> float:
    # With the children that have ended.
    return sum(process.cpu_times()[:4])
