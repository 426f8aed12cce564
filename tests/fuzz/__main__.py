"""Fuzz for as long as asked: random files and requests, parsers and histories, and atheris on the parsers.

    python -m tests.fuzz --minutes 60 --seed 3
    python -m tests.fuzz --only files --example 3000017    # one message again

It goes round all kinds until the time is over, each time with other seeds, and prints what was sent, which statuses
came back, how long the event loop was held, and what was found with the command that repeats it. It exits with 1 if it
has found something.
"""

import argparse
import asyncio
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from tests.conftest import ROOT
from tests.frontends import running
from tests.fuzz.decoding import outcomes
from tests.fuzz.messages import file_upload, request
from tests.fuzz.parsers import TARGETS
from tests.fuzz.sandbox import decode_all
from tests.fuzz.sending import MOST_MS, Makes, busy, exchange, killed, message_of, send_all, surroundings
from tests.proxy import caddy, proxy

# What is sent, by kind: how it is made, and whether it goes through the proxy.
_SENT: Mapping[str, tuple[Makes, bool]] = {
    "files": (file_upload, False),
    "requests": (request, False),
    "proxied": (request, True),
}
_KINDS = ("decoded", *_SENT, "histories", "guided")
# Seeds of one --seed do not meet those of another.
_SEEDS = 10_000_000
_COMMAND = f"{Path(sys.executable).name} -m tests.fuzz"


class Fuzzing:
    """Numbers of a whole run."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._next: Counter[str] = Counter()
        self.found = 0

    def round(self, kind: str, seconds: float) -> None:
        """Fuzz one kind for about so long."""
        if kind in _SENT:
            self._send(kind, seconds)
        elif kind == "decoded":
            self._decode(seconds)
        elif kind == "histories":
            self._histories()
        else:
            self._guided(seconds)

    def _decode(self, seconds: float) -> None:
        first = self._seed * _SEEDS + self._next["decoded"]
        report = asyncio.run(decode_all(range(first, first + _SEEDS), time.monotonic() + seconds))
        self._next["decoded"] += report.sent
        print(f"decoded: {report}", flush=True)
        for seed, fault in report.found:
            self._note(f"{fault}\n    {_COMMAND} --only decoded --example {seed}")

    def _send(self, kind: str, seconds: float) -> None:
        make, through_proxy = _SENT[kind]
        first = self._seed * _SEEDS + self._next[kind]

        async def send(port: int) -> None:
            report = await send_all(frontend, port, make, range(first, first + _SEEDS), time.monotonic() + seconds)
            self._next[kind] += report.sent
            print(f"{kind}: {report}", flush=True)
            for seed, fault in report.found:
                self._note(f"{fault}\n    {_COMMAND} --only {kind} --example {seed}")
            if report.longest_ms > MOST_MS or (left := await busy(frontend.port)):
                self._note(
                    f"{kind}: left in use: {left}" if report.longest_ms <= MOST_MS else f"{kind}: the loop was held"
                )
            if deaths := await killed(frontend.port):
                print(f"{kind}: task processes that ended before their time: {deaths}", flush=True)

        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            frontend = stack.enter_context(running(surroundings(folder), "--watch"))
            port = frontend.port
            if through_proxy:
                program = caddy()
                assert program is not None, "there is no Caddy"
                port = stack.enter_context(proxy(folder, program, [f"127.0.0.1:{port}"]))
            asyncio.run(send(port))

    def _histories(self) -> None:
        """The tests of parsers, limits, queue and money, with more examples and other seeds."""
        self._next["histories"] += 1
        seed = self._seed * _SEEDS + self._next["histories"]
        words = ["-q", "-x", f"--hypothesis-seed={seed}", "--deselect", "tests/fuzz/test_requests.py", "tests/fuzz"]
        self._run("histories", [sys.executable, "-m", "pytest", *words], {"FUZZ_EXAMPLES": "300"})

    def _guided(self, seconds: float) -> None:
        if importlib.util.find_spec("atheris") is None:
            print("guided: atheris is not installed", flush=True)
            return
        for target in TARGETS:
            self._next["guided"] += 1
            words = ["-m", "tests.fuzz.guided", target, "--seconds", str(max(1, round(seconds / len(TARGETS))))]
            seed = self._seed * _SEEDS + self._next["guided"]
            self._run(f"guided {target}", [sys.executable, *words, "--seed", str(seed % 2**32)], {})

    def _run(self, name: str, command: list[str], environ: Mapping[str, str]) -> None:
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **environ}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            self._note(f"{name}: {' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
            return
        numbers = [
            line for line in (done.stdout + done.stderr).splitlines() if "executed_units" in line or "passed" in line
        ]
        print(f"{name}: {' '.join(numbers)}", flush=True)

    def _note(self, found: str) -> None:
        self.found += 1
        print(f"FOUND {found}", flush=True)


def _again(kind: str, seed: int) -> None:
    """Decode a file, or send one message and print it and what comes back."""
    if kind == "decoded":
        print(outcomes([seed]))
        return
    message = message_of(_SENT[kind][0], seed)
    print(message.wrong, b"".join(message.pieces)[:2000])
    with tempfile.TemporaryDirectory() as folder, running(surroundings(Path(folder))) as frontend:
        print(asyncio.run(exchange(frontend.port, message)))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=_KINDS, action="append", help="a kind; may be given several times")
    parser.add_argument("--example", type=int, help="the seed of one message")
    options = parser.parse_args()
    kinds = options.only or _KINDS
    if options.example is not None:
        _again(kinds[0], options.example)
        return 0
    fuzzing, ends = Fuzzing(options.seed), time.monotonic() + 60 * options.minutes
    while (left := ends - time.monotonic()) > 0:
        for kind in kinds:
            fuzzing.round(kind, min(60.0, left / len(kinds)))
    return bool(fuzzing.found)


if __name__ == "__main__":
    sys.exit(main())
