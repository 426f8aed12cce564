"""A worker's side of its pipe: one task a line in as JSON, the seconds it took and what was heard out."""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any


def serve(work: Callable[[Any], Any], *, hears: bool = False) -> None:
    """Do each task that comes in on stdin; what a worker that ``hears`` answers is told.

    What libraries print, in any way, goes to stderr, where it disturbs nothing.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        started = time.perf_counter()
        answer = work(json.loads(line))
        seconds = time.perf_counter() - started
        print(json.dumps([seconds, answer if hears else []]), file=answers, flush=True)
