"""A worker's side of its pipe: one task a line in, the seconds it took out. Standard library alone."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any


def serve(work: Callable[[Any], object]) -> None:
    """Do each task that comes in on stdin; what libraries print goes to stderr, where it disturbs nothing."""
    answers, sys.stdout = sys.stdout, sys.stderr
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        started = time.perf_counter()
        work(json.loads(line))
        print(time.perf_counter() - started, file=answers, flush=True)
