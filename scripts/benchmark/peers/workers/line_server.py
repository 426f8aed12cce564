"""A worker's side of its pipe: one task a line in, the seconds it took out. NumPy alone."""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def serve(work: Callable[[Any], Any]) -> None:
    """Do each task that comes in on stdin, ``{"task": ..., "save": file or null}``, and save its answer where told.

    What libraries print, in any way, goes to stderr, where it disturbs nothing. No answer is saved as an empty one.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        started = time.perf_counter()
        answer = work(asked["task"])
        seconds = time.perf_counter() - started
        if asked["save"]:
            np.save(asked["save"], [] if answer is None else answer)
        print(seconds, file=answers, flush=True)
