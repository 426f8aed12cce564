"""Starts the servers, prints how to use them, keeps them running and stops them."""

import os
import shlex
import signal
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from frontend.database.engine import DATABASE_FAILURES, DatabaseUrlError
from frontend.database.migrate import MigrationError
from scripts.local_triton.checks import PreflightError
from scripts.local_triton.server import TritonFailedError
from scripts.run import known_answers
from scripts.run.preflight import Choice, port_of
from scripts.run.signals import SIGNALS, interruptible
from scripts.run.stack import Stack

_WATCH_SECONDS = 0.2
# Variables for shells, and for the next start.
_ENV_FILE = "demo.env"


def write_env(path: Path, values: Mapping[str, str]) -> None:
    """Write variables for a shell to source. The file has keys, so only its owner can read it."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text("".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items()), encoding="utf-8")


def read_env(path: Path) -> dict[str, str]:
    """The variables of the file, or none before the first complete start."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return dict(line.split("=", 1) for line in shlex.split(text))


def welcome(url: str, key: str, more: Path, seconds: float) -> str:
    """The final lines on screen: the address, the key, and a first command to paste."""
    # Without this, curl asks the proxy of a shell that has not sourced the file.
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
    """The product with its database opened; if that fails, print why and return None."""
    choice.state.mkdir(parents=True, exist_ok=True)
    previous, added = read_env(choice.state / _ENV_FILE), choice.own
    stack = Stack(port_of(choice.port), os.environ, work=choice.state, previous=previous, added=added)
    try:
        stack.open_database()
    except (MigrationError, DatabaseUrlError, *DATABASE_FAILURES) as error:
        print(f"QUARTET_DATABASE: {error}", file=sys.stderr)
        return None
    return stack


def launch(
    stack: Stack,
    choice: Choice,
    signals: Sequence[signal.Signals] = SIGNALS,
    ending: Callable[[], None] = lambda: None,
) -> int:
    """Run until one of ``signals``; ``ending`` is called then.

    Return the exit status, 1 if the models do not answer as they should.
    """
    started, is_correct = time.monotonic(), True

    def mend() -> None:
        if reason := stack.mend():
            raise TritonFailedError(reason)

    try:
        # A second interrupt skips the wait for requests in flight.
        with interruptible(stack.hurry, signals):
            stack.start()
            path, values = choice.state / _ENV_FILE, {**stack.environment(), **known_answers.variables(choice)}
            write_env(path, values)
            print(welcome(stack.url, stack.api_key, path, time.monotonic() - started), flush=True)
            is_correct = known_answers.verify(choice, values, watch=mend)
            while True:
                time.sleep(_WATCH_SECONDS)
                mend()
    except KeyboardInterrupt:
        ending()
        print("\nstopping: requests in flight are finished; Ctrl-C again drops them", flush=True)
    except (PreflightError, TritonFailedError, *DATABASE_FAILURES) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        stack.stop()
    return 0 if is_correct else 1
