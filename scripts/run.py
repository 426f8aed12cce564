"""Quartet on one machine, without Docker: export what is missing, start Triton and the frontend, stop both together.

python -m scripts.run --models demo --port 8080
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

from frontend.config_tables import SettingsError
from frontend.database.engine import DatabaseUrlError
from frontend.database.migrate import MigrationError
from scripts.local_triton.checks import PreflightError
from scripts.local_triton.child import die_with_parent
from scripts.local_triton.server import TritonFailedError
from scripts.stack import BUILD, REPOSITORY, Stack

_WATCH_SECONDS = 0.2
# The README's section on the demo models says more.
DEMO_BOUNDS = """\
Demo models. Speech to text knows some 400 everyday words each of English, German, French and Italian, guesses at all
others, and takes no prompt. The six voices say any text, like robots. Embeddings and rerank are at home in English.
"""
_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _export(models: str, folder: str, precision: str) -> int:
    command = [sys.executable, "-m", "scripts.export_models", "--source", models, "--repository", str(REPOSITORY)]
    command += ["--precision", precision]
    return subprocess.call(command + (["--folder", folder] if folder else []))


def _write_environment(stack: Stack, token: str) -> Path:
    """``build/demo.env``, readable by its owner alone since it holds the keys."""
    path = BUILD / "demo.env"
    values = {"URL": stack.url, "API_KEY": stack.api_key, "MOBILE_JWT": token, "JWT_SECRET": stack.jwt_secret}
    lines = "".join(f"QUARTET_{name}={value}\n" for name, value in values.items())
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(lines, encoding="utf-8")
    return path


def examples(stack: Stack, token: str, path: Path, seconds: float) -> str:
    """Copy-and-paste examples for the person who started the product."""
    return f"""
Quartet is ready after {seconds:.0f} s at {stack.url}

  API key       {stack.api_key}
  mobile token  {token}

Both are in {path}. Try, in another shell:

  source {path}
  curl -s $QUARTET_URL/v1/audio/speech -H "Authorization: Bearer $QUARTET_API_KEY" \\
    -d '{{"input": "Good morning Anna, can you buy some bread today?", "voice": "amy"}}' -o hello.wav
  curl -s $QUARTET_URL/v1/audio/transcriptions -H "Authorization: Bearer $QUARTET_API_KEY" -F file=@hello.wav
  curl -s $QUARTET_URL/v1/rerank -H "Authorization: Bearer $QUARTET_API_KEY" \\
    -d '{{"query": "How do I reset my password?",
         "documents": ["Press the reset button of the router.", "Change a forgotten login secret here."]}}'

What the key has used is shown at {stack.url}/dashboard. Ctrl-C stops everything.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description="Run Quartet on this machine.")
    parser.add_argument("--models", choices=("demo", "hub", "folder"), default="demo")
    parser.add_argument("--folder", default="", help="for --models folder: checkpoints laid out as on the hub")
    parser.add_argument("--precision", default="auto", help="of the text models: auto, int8 or fp32")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--end-with-parent", action="store_true", help="stop when the caller (make) is killed")
    arguments = parser.parse_args()
    started = time.monotonic()
    if arguments.end_with_parent:
        die_with_parent()
    if arguments.models == "demo":
        print(DEMO_BOUNDS, flush=True)
    if failed := _export(arguments.models, arguments.folder, arguments.precision):
        return failed
    BUILD.mkdir(exist_ok=True)
    try:
        stack = Stack(arguments.port, os.environ)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 2

    def leave(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    # SIGINT too: a shell that starts this in the background has it ignored.
    for number in _ENDING_SIGNALS:
        signal.signal(number, leave)
    try:
        stack.start()
        token = stack.mobile_token
        path = _write_environment(stack, token)
        print(examples(stack, token, path, time.monotonic() - started), flush=True)
        while True:
            time.sleep(_WATCH_SECONDS)
            if reason := stack.mend():
                print(reason, file=sys.stderr)
                return 1
    except KeyboardInterrupt:
        print("\nstopping", flush=True)
    except (PreflightError, TritonFailedError, MigrationError, DatabaseUrlError) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        # From here on a signal must not interrupt the cleaning up.
        for number in _ENDING_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        stack.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
