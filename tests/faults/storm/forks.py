"""Frontends as forks of a process that has imported them, so that each starts in a moment.

Each line of its input has the environment of another one; its output has their process ids and their addresses. All end
with the input.
"""

import asyncio
import json
import os
import signal
import sys
import traceback
from functools import partial

from tests import fake_frontend
from tests.fakes import FakeTriton

# Long enough that kills and a full disk meet requests at work.
_CALL_SECONDS = 0.05


def _slow(address: str) -> FakeTriton:
    triton = FakeTriton(address)
    triton.wait = partial(asyncio.sleep, _CALL_SECONDS)
    return triton


def _serve(environ: dict[str, str]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.update(environ)
    try:
        fake_frontend.main(_slow)
    except BaseException:
        traceback.print_exc()
    # What it inherited is its parent's to end.
    os._exit(0)


if __name__ == "__main__":
    # The kernel forgets those that have died.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        if pid := os.fork():
            print(pid, flush=True)
        else:
            _serve(json.loads(line))
    os.killpg(0, signal.SIGKILL)
