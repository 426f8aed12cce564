"""The sides of a comparison: each does the same work and measures the seconds."""

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lab.peers.recorded import Recording
from lab.peers.word_errors import Heard
from scripts.benchmark.common import load
from scripts.benchmark.common.inputs import Call
from scripts.benchmark.common.summary import span
from scripts.benchmark.common.target import Target, own_product
from scripts.local_triton.checks import free_port
from scripts.local_triton.child import start_child, stop_child
from scripts.local_triton.server import DIRECT

_START_SECONDS = 300
_STOP_SECONDS = 10
WORKERS = Path(__file__).parent / "workers"
# No telemetry and no downloads.
_OFFLINE = {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "INFINITY_ANONYMOUS_USAGE_STATS": "0"}


class PeerError(Exception):
    """A side did not start, or answered with an error."""


class Side(Protocol):
    """One side; ``run`` does the work once and returns the seconds and the transcripts."""

    def run(self) -> tuple[float, list[Heard]]: ...


Opener = Callable[[ExitStack], Side]


@dataclass(frozen=True)
class Case:
    """The ``units`` of work of a run, and an opener for each side; names of the product's sides begin with Quartet."""

    name: str
    unit: str
    units: float
    sides: dict[str, Opener]
    recordings: Sequence[Recording] = ()


class HttpSide:
    """``callers`` who send the calls to an address, each as soon as its last is answered; ``heard`` reads an answer."""

    def __init__(
        self, target: Target, calls: Sequence[Call], callers: int, heard: Callable[[bytes], Heard] | None = None
    ) -> None:
        self._target, self._calls, self._callers, self._heard = target, calls, callers, heard

    def run(self) -> tuple[float, list[Heard]]:
        return asyncio.run(self._send())

    async def _send(self) -> tuple[float, list[Heard]]:
        answers: dict[int, bytes] = {}

        def keep(call: Call, content: bytes) -> None:
            answers[id(call)] = content

        async with load.connected(self._target.address, self._target.key, keep) as client:
            samples = await load.each_once(client, self._calls, self._callers)
        if failed := {sample.status for sample in samples} - {200}:
            raise PeerError(f"{self._target.address} answered {failed}")
        return span(samples), [self._heard(answers[id(call)]) for call in self._calls] if self._heard else []


class WorkerSide:
    """A worker process that gets the same task in each run, through a pipe."""

    def __init__(self, process: subprocess.Popen[str], task: Any) -> None:
        self._process, self._task = process, task

    def run(self) -> tuple[float, list[Heard]]:
        assert self._process.stdin is not None
        print(json.dumps(self._task), file=self._process.stdin, flush=True)
        seconds, answers = json.loads(_line(self._process))
        return seconds, [Heard(each["text"], each["words"]) for each in answers]


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    if line := process.stdout.readline():
        return line
    raise PeerError("a worker ended")


@contextmanager
def worker(python: Path, log: Path, script: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Run a script of ``workers`` with another interpreter; its standard error goes to ``log``."""
    command = [str(python), str(WORKERS / script), *map(str, arguments)]
    environment = {**os.environ, **_OFFLINE, "PYTHONPATH": str(Path.cwd())}
    pipe = subprocess.PIPE
    with (
        log.open("w") as said,
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=said, env=environment, text=True) as process,
    ):
        _line(process)
        yield process


@contextmanager
def server(command: Sequence[object], health: str, log: Path) -> Iterator[str]:
    """Run a peer's server on a free port, which replaces ``{port}`` in ``command``; yields the address."""
    port = free_port()
    process = start_child([str(part).replace("{port}", str(port)) for part in command], {**os.environ, **_OFFLINE}, log)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(address + health, process, log)
        yield address
    finally:
        stop_child(process, _STOP_SECONDS)


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with DIRECT.open(address, timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    raise PeerError(f"no answer from {address}; its log is {log}")


@dataclass(frozen=True)
class Bench:
    """The folder of models and logs, and the ``bin`` folders of the peers' virtual environments."""

    folder: Path
    text_peers: Path = Path(".venv/peers-text/bin").absolute()
    audio_peers: Path = Path(".venv/peers-audio/bin").absolute()
    engines: Path = Path(".venv/peers-engines/bin").absolute()
    own: Path = Path(".venv/bin").absolute()

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def worker(self, bin_folder: Path, task: Any, script: str, *arguments: object) -> Opener:
        """``task`` for a script of ``workers`` under the interpreter in ``bin_folder``."""
        named = [Path(script).stem, *(part for part in map(str, arguments) if part.isalnum())]
        log = self._log("-".join(named))
        python = bin_folder / "python"
        return lambda stack: WorkerSide(stack.enter_context(worker(python, log, script, *arguments)), task)

    def server(
        self, name: str, command: Sequence[object], health: str, calls: Sequence[Call], callers: int, base: str = "/v1"
    ) -> Opener:
        """A peer's own server; ``base`` is the first part of the paths of calls."""
        return lambda stack: HttpSide(
            Target(stack.enter_context(server(command, health, self._log(name))) + base), calls, callers
        )

    def product(self, repository: Path, calls: Sequence[Call], callers: int) -> Opener:
        """The product with the models of ``repository``."""
        return lambda stack: HttpSide(stack.enter_context(own_product(repository)), calls, callers)
