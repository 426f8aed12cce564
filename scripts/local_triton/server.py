"""Starts one embedded Triton, loads its models and stops it."""

import json
import os
import re
import secrets
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from scripts.local_triton import checks, settings
from scripts.local_triton.assemble import assemble_backends, environment
from scripts.local_triton.child import (
    commands,
    ended_children,
    hide_argument,
    start_child,
    stop_child,
    waiting_threads,
)
from scripts.machine import processors

_START_SECONDS = 60
_LOAD_SECONDS = 300
_EXIT_SECONDS = 15
_LOAD_THREADS = 4
_POLL_SECONDS = 1.0
# Checks in a row that must agree before a missing process counts as ended.
_POLLS = 5
_SHARED_MEMORY = Path("/dev/shm")
# Triton's own lines in its log: those with a level and a time, and tables.
_OF_TRITON = re.compile(r"[IWEF]\d{4} |[+|]")
# Opener without proxies, for loopback addresses.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class TritonFailedError(Exception):
    """Triton stopped or a model did not load. The message is for the user."""


@dataclass(frozen=True)
class Ports:
    http: int = field(default_factory=checks.free_port)
    grpc: int = field(default_factory=checks.free_port)
    metrics: int = field(default_factory=checks.free_port)


def _raise(name: str, error: TritonFailedError) -> None:
    raise error


class LocalTriton:
    """One tritonserver process and its Python stubs, in explicit model control, which only ``secret`` opens.

    The name of every stub and shared-memory file begins with the prefix of this instance, so that cleaning up after
    a crash touches nothing else. A model's ``configs/<config_name>.pbtxt`` replaces its ``config.pbtxt``.
    """

    def __init__(
        self, repository: Path, work: Path, ports: Ports | None = None, config_name: str = "", secret: str = ""
    ) -> None:
        self.repository = repository.resolve()
        self.secret, self._nobody = secret or secrets.token_hex(16), secrets.token_hex(16)
        self._config_name = config_name
        self.ports = ports or Ports()
        self._work = work
        self._process: subprocess.Popen[bytes] | None = None
        self._prefix = f"quartet_{os.getpid()}_{self.ports.grpc}_"

    @property
    def log(self) -> Path:
        return self._work / "triton.log"

    def start(self) -> None:
        """Run the binary and wait until it answers; raise ``PreflightError`` or ``TritonFailedError`` if it cannot."""
        wheel = checks.find_wheel()
        checks.check_glibc()
        checks.check_numpy()
        checks.check_stub(wheel)
        for path in (self.repository, self._work.resolve()):
            checks.check_path(path)
        libpython = checks.find_libpython()
        for port in (self.ports.http, self.ports.grpc, self.ports.metrics):
            checks.check_port(port)
        self._work.mkdir(parents=True, exist_ok=True)
        backends = assemble_backends(wheel, self._work / "backends")
        values = environment(wheel, libpython, Path(sys.executable))
        self._process = start_child(self._command(wheel, backends), values, self.log)
        self._wait_until_live()
        # It has read its arguments.
        for secret in (self.secret, self._nobody):
            with suppress(OSError):
                hide_argument(self._process.pid, secret)

    def _command(self, wheel: checks.Wheel, backends: Path) -> list[str]:
        command = [
            str(wheel.server),
            f"--model-repository={self.repository}",
            f"--backend-directory={backends.resolve()}",
            f"--cache-directory={wheel.caches}",
            *settings.arguments(self.secret, self._nobody),
            # The caller of ``stop`` waits for this.
            f"--exit-timeout-secs={_EXIT_SECONDS}",
            f"--backend-config=python,shm-region-prefix-name={self._prefix}",
        ]
        if self._config_name:
            command.append(f"--model-config-name={self._config_name}")
        for name, port in (("http", self.ports.http), ("grpc", self.ports.grpc), ("metrics", self.ports.metrics)):
            command += [f"--{name}-port={port}", f"--{name}-address=127.0.0.1"]
        return command

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _wait_until_live(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if not self.alive():
                raise TritonFailedError(f"Triton stopped while starting; its log is {self.log}")
            if self._is_live():
                return
            time.sleep(0.05)
        self.stop()
        raise TritonFailedError(f"Triton did not answer within {_START_SECONDS} s; its log is {self.log}")

    def _is_live(self) -> bool:
        try:
            with DIRECT.open(f"http://127.0.0.1:{self.ports.http}/v2/health/live", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _load(self, name: str) -> None:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.ports.http}/v2/repository/models/{name}/load",
            data=b"{}",
            headers={"Content-Type": "application/json", settings.HEADER: self.secret},
        )
        try:
            with DIRECT.open(request, timeout=_LOAD_SECONDS):
                return
        except urllib.error.HTTPError as error:
            reason = json.loads(error.read() or b"{}").get("error", error.reason)
            raise TritonFailedError(f"{name} could not load: {reason}") from None
        except OSError:
            why = f"{name} did not load in {_LOAD_SECONDS} s" if self.alive() else "Triton stopped"
            raise TritonFailedError(f"{why}; its log is {self.log}") from None

    def load(
        self,
        names: Sequence[str],
        progress: Callable[[int], None] = lambda ready: None,
        failed: Callable[[str, TritonFailedError], None] = _raise,
    ) -> None:
        """Load models in parallel. ``progress`` gets the number of loaded and failed models about once a second.

        ``failed`` gets each model that did not load and the reason; by default it raises. If Triton stops, this raises.
        """
        # More only take processors from each other, and Triton 2.51 gives up a stub that gets none for a second.
        pool = ThreadPoolExecutor(min(_LOAD_THREADS, max(2, processors())))
        before, polls, waits = self._ended_stubs(), Counter[str](), Counter[int]()
        try:
            pending = {pool.submit(self._load, name): name for name in names}
            while pending:
                progress(len(names) - len(pending))
                ready = wait(pending, _POLL_SECONDS, FIRST_COMPLETED).done
                if not ready:
                    waits = Counter({thread: waits[thread] + 1 for thread in self._waiting_threads()})
                self._raise_if_stopped(stuck=max(waits.values(), default=0) >= _POLLS)
                for each in ready:
                    self._collect(pending.pop(each), each, failed)
                # Triton does not notice that a stub died while it loads.
                if not ready and self._ended_stubs() - before:
                    polls = Counter({name: polls[name] + 1 for name in self._without_stub(pending)})
                    for each in [each for each, name in pending.items() if polls[name] == _POLLS]:
                        name = pending.pop(each)
                        reason = f"{name}'s process ended: {self._last_words()}; the log is {self.log}"
                        failed(name, TritonFailedError(reason))
        finally:
            # An interrupted caller stops Triton, which ends these requests.
            pool.shutdown(wait=False, cancel_futures=True)

    def _raise_if_stopped(self, *, stuck: bool) -> None:
        """Raise if Triton has ended, or is ``stuck``: 2.51 waits for ever for the end of a stub that lives.

        It takes a stub for dead that gets no processor for a second.
        """
        if self._process is None:
            return
        if stuck:
            self._process.kill()
            self._process.wait()
        if not self.alive():
            # Its stubs, which live on, keep the connections of the requests open.
            raise TritonFailedError(f"Triton stopped; its log is {self.log}")

    def _waiting_threads(self) -> set[int]:
        return waiting_threads(self._process.pid) if self._process else set()

    def _collect(self, name: str, load: "Future[None]", failed: Callable[[str, TritonFailedError], None]) -> None:
        try:
            load.result()
        except TritonFailedError as error:
            if not self.alive():
                raise
            failed(name, error)

    def _without_stub(self, pending: Mapping["Future[None]", str]) -> list[str]:
        """The loading models without a process. A stub's command line has ``<model>_0_<number>``."""
        lines = [line for line in commands() if self._prefix in line]
        running = [name for load, name in pending.items() if load.running()]
        return [name for name in running if not any(f" {name}_0_" in line for line in lines)]

    def _ended_stubs(self) -> set[int]:
        return ended_children(self._process.pid) if self._process else set()

    def _last_words(self) -> str:
        """The last line of the log that a stub wrote."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip() and not _OF_TRITON.match(line)), "-")

    def kill(self) -> None:
        """End the server without waiting for anything; ``stop`` cleans up."""
        if self._process is not None:
            self._process.kill()

    def stop(self, *, at_once: bool = False) -> None:
        """End Triton and every stub, and remove their shared memory. A second call does nothing.

        It waits for requests in flight and loading models, unless ``at_once``.
        """
        if self._process is None:
            return
        # Stubs survive a killed server; they are in its process group.
        stop_child(self._process, 0 if at_once else _EXIT_SECONDS + 5)
        for leftover in _SHARED_MEMORY.glob(f"{self._prefix}*"):
            leftover.unlink(missing_ok=True)
        self._process = None
