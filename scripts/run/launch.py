"""Start what runs, say how to use it, keep it going, and stop it."""

import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
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


def examples(stack: Stack, values: Mapping[str, str], path: Path, seconds: float) -> str:
    """Copy-and-paste examples for the person who started the product."""
    triton = stack.triton.ports
    return f"""
Quartet is ready after {seconds:.0f} s at {stack.url}

  API key       {values["QUARTET_API_KEY"]}
  mobile token  {values["QUARTET_MOBILE_JWT"]}
  Triton        HTTP 127.0.0.1:{triton.http}, gRPC 127.0.0.1:{triton.grpc}, metrics 127.0.0.1:{triton.metrics}
  fitted to     {stack.fit}

All of it is in {path}. Try, in another shell:

  source .venv/bin/activate; set -a; source {path}; set +a
  curl -s $QUARTET_URL/v1/audio/speech -H "Authorization: Bearer $QUARTET_API_KEY" \\
    -d '{{"input": "Good morning Anna, can you buy some bread today?", "voice": "amy"}}' -o hello.wav
  curl -s $QUARTET_URL/v1/audio/transcriptions -H "Authorization: Bearer $QUARTET_API_KEY" -F file=@hello.wav
  curl -s $QUARTET_URL/v1/rerank -H "Authorization: Bearer $QUARTET_API_KEY" \\
    -d '{{"query": "How do I reset my password?",
         "documents": ["Press the reset button of the router.", "Change a forgotten login secret here."]}}'
  quartet keys create --name "search service"

{stack.url} links what there is to look at. Ctrl-C stops everything.
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
    # Who asks a second time does not want to wait for requests under way.
    ending = Ending(stack.hurry, signals)

    def mend() -> None:
        if reason := stack.mend():
            raise TritonFailedError(reason)

    try:
        stack.start()
        path, values = choice.state / demo_env.FILE, {**stack.environment(), **known_answers.told(choice)}
        demo_env.write(path, values)
        print(examples(stack, values, path, time.monotonic() - started), flush=True)
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
