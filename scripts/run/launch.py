"""Starts the servers, prints how to use them, keeps them running and stops them."""

import os
import signal
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from frontend.database.engine import DATABASE_FAILURES, DatabaseUrlError
from frontend.database.migrate import MigrationError
from scripts.local_triton.checks import PreflightError
from scripts.local_triton.server import TritonFailedError
from scripts.run import demo_env, known_answers
from scripts.run.ending import SIGNALS, Ending
from scripts.run.preflight import Choice, port_of
from scripts.run.stack import Stack

_WATCH_SECONDS = 0.2


def welcome(url: str, key: str, more: Path, seconds: float) -> str:
    """The final lines on screen: the address, the key, and a first command to paste."""
    # Where curl would ask a proxy; a shell that has read the file asks none.
    direct = "--noproxy 127.0.0.1 " if urllib.request.getproxies().keys() & {"http", "all"} else ""
    return f"""
Quartet is ready after {seconds:.0f} s. Ctrl-C stops it; {more} has what other shells need.

  address     {url}
  playground  {url}/playground
  key         {key}

  curl -s {direct}{url}/v1/audio/speech -H "Authorization: Bearer {key}" \\
    -d '{{"input": "Good morning, Anna. Can you buy some bread today?", "voice": "ryan"}}' -o hello.wav
"""


def prepare(choice: Choice) -> Stack | None:
    """The product with its database opened; None, and a sentence, where that fails."""
    choice.state.mkdir(parents=True, exist_ok=True)
    kept = demo_env.read(choice.state / demo_env.FILE)
    stack = Stack(port_of(choice.port), os.environ, work=choice.state, kept=kept)
    try:
        stack.open_database()
    except (MigrationError, DatabaseUrlError, *DATABASE_FAILURES) as error:
        print(f"QUARTET_DATABASE: {error}", file=sys.stderr)
        return None
    return stack


def launch(stack: Stack, choice: Choice, signals: Sequence[signal.Signals] = SIGNALS) -> int:
    """Until one of ``signals``; answers the exit code, 1 where the models are not what they should be."""
    started, as_known = time.monotonic(), True
    # A second interrupt skips the wait for requests in flight.
    ending = Ending(stack.hurry, signals)

    def mend() -> None:
        if reason := stack.mend():
            raise TritonFailedError(reason)

    try:
        stack.start()
        path, values = choice.state / demo_env.FILE, {**stack.environment(), **known_answers.told(choice)}
        demo_env.write(path, values)
        print(welcome(stack.url, stack.api_key, path, time.monotonic() - started), flush=True)
        as_known = known_answers.hold(choice, values, watch=mend)
        while True:
            time.sleep(_WATCH_SECONDS)
            mend()
    except KeyboardInterrupt:
        print("\nstopping", flush=True)
    except (PreflightError, TritonFailedError, *DATABASE_FAILURES) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        ending.begins()
        stack.stop()
    return 0 if as_known else 1
