"""Quartet on one machine, without Docker: export what is missing, start Triton and the frontend, stop both together.

python -m scripts.run --models demo --port 8080
"""

import argparse
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

from tqdm import tqdm

from frontend.access.jwt import Tokens
from frontend.access.registry import Registry
from frontend.commands.database import with_registry
from frontend.config import Settings
from frontend.config_tables import SettingsError
from frontend.database.engine import DatabaseUrlError
from frontend.database.migrate import MigrationError
from frontend.pages.health import TRITON_MODELS
from scripts.local_triton.checks import PreflightError, check_port
from scripts.local_triton.child import die_with_parent, start_child, stop_child
from scripts.local_triton.server import LocalTriton, TritonFailedError

BUILD = Path("build")
REPOSITORY = Path("model_repository")
_READY_SECONDS = 60
_STOP_SECONDS = 20
_WATCH_SECONDS = 0.2
_TOKEN_SECONDS = 30 * 86_400
_DEMO_KEY = "make run"
_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stack:
    """One Triton over ``repository`` and one frontend, with logs in ``work``, that live and die together."""

    def __init__(
        self, port: int, environ: Mapping[str, str], repository: Path = REPOSITORY, work: Path = BUILD
    ) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._environ = environ
        self._settings = Settings.from_env(environ)
        self.api_key = ""
        self.jwt_secret = self._settings.jwt_secret or secrets.token_hex(32)
        self._port = port
        self._repository, self._work = repository, work
        self.triton = LocalTriton(repository, work / "triton")
        self._frontend: subprocess.Popen[bytes] | None = None

    @property
    def mobile_token(self) -> str:
        """A token for the mobile endpoints."""
        tokens = Tokens(self._settings.jwt_audience, self._settings.jwt_issuer, self.jwt_secret)
        return tokens.issue("demo-phone", _TOKEN_SECONDS)

    def start(self) -> None:
        """Start both and wait until every model is ready."""
        check_port(self._port)
        self.api_key = with_registry(self._settings, _new_demo_key)
        self.triton.start()
        with tqdm(total=len(TRITON_MODELS), desc="loading models", unit="model") as bar:
            self.triton.load(TRITON_MODELS, lambda name: bar.update())
        environment = {
            **self._environ,
            "QUARTET_PORT": str(self._port),
            "QUARTET_TRITON": f"127.0.0.1:{self.triton.ports.grpc}",
            "QUARTET_MODEL_REPOSITORY": str(self._repository),
            "QUARTET_JWT_SECRET": self.jwt_secret,
        }
        command = [sys.executable, "-m", "frontend", "serve"]
        self._frontend = start_child(command, environment, self._work / "frontend.log")
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while time.monotonic() < deadline and not self.failure():
            try:
                with urllib.request.urlopen(f"{self.url}/health/ready", timeout=2):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise TritonFailedError(self.failure() or f"the frontend was not ready within {_READY_SECONDS} s")

    def failure(self) -> str:
        """What stopped by itself, or nothing."""
        if not self.triton.alive():
            return f"Triton stopped; its log is {self.triton.log}"
        if self._frontend is not None and self._frontend.poll() is not None:
            return f"the frontend stopped; its log is {self._work / 'frontend.log'}"
        return ""

    def stop(self) -> None:
        """The frontend first, so that it finishes what it has begun; then Triton."""
        if self._frontend is not None:
            # Workers of a frontend that was killed stay behind in its process group.
            stop_child(self._frontend, _STOP_SECONDS)
        self.triton.stop()


async def _new_demo_key(registry: Registry) -> str:
    """A key for this run; that of the run before ends."""
    for entry in await registry.entries():
        if entry.name == _DEMO_KEY and entry.revoked_at is None:
            await registry.revoke(entry.prefix)
    return await registry.create(_DEMO_KEY, "free", None, {}, None)


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
            if reason := stack.failure():
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
