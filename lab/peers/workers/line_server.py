"""The worker's end of the pipe: reads a task per line as JSON, and writes its seconds and transcripts."""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any


def serve(work: Callable[[Any], Any], *, hears: bool = False) -> None:
    """Do each task of standard input. Only a worker that ``hears`` returns its results.

    The output of libraries goes to stderr, so that it does not mix with the answers.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        started = time.perf_counter()
        answer = work(json.loads(line))
        seconds = time.perf_counter() - started
        print(json.dumps([seconds, answer if hears else []]), file=answers, flush=True)
