"""A project of compose, by Docker's command or podman-compose, and its containers as the engine knows them."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_READY_SECONDS = 1200
_ASK_READY = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8081/health/ready', timeout=4)"


class ProjectError(Exception):
    """A command failed, or something is not as it must be; the message says what."""


@dataclass(frozen=True)
class Project:
    """``compose`` is the command with its options, ``engine`` the one beside it (docker or podman)."""

    compose: Sequence[str]
    engine: str
    name: str
    environ: Mapping[str, str] = field(repr=False)
    log: Path = Path("/dev/null")

    def run(self, *words: str, check: bool = True) -> str:
        """What a command of compose prints; all that it says besides goes to the log."""
        return self._run([*self.compose, *words], check)

    def _run(self, command: Sequence[str], check: bool) -> str:
        with self.log.open("ab") as log:
            done = subprocess.run(command, env=self.environ, stdout=subprocess.PIPE, stderr=log, text=True, check=False)
            log.write(done.stdout.encode())
        if check and done.returncode:
            raise ProjectError(f"{' '.join(command)} ended with {done.returncode}; {self.log} has what it said")
        return done.stdout

    def inside(self, service: str, *words: str) -> str:
        """What a command prints that runs in a service's container."""
        return self.run("exec", "-T", service, *words)

    def inspect(self, service: str, form: str) -> str:
        """What the engine knows of a service's container, by a template."""
        labels = {"project": self.name, "service": service}
        filters = [f"--filter=label=com.docker.compose.{name}={value}" for name, value in labels.items()]
        (container,) = self._run([self.engine, "ps", "--all", "--quiet", *filters], True).split()
        return self._run([self.engine, "inspect", "--format", form, container], True).strip()

    def megabytes(self, service: str) -> float:
        """The size of a service's image, in millions of bytes."""
        image = self.inspect(service, "{{.Image}}")
        return float(self._run([self.engine, "image", "inspect", "--format", "{{.Size}}", image], True)) / 1e6

    def start(self) -> float:
        """Bring everything up; answers the seconds until the frontend was ready."""
        began = time.monotonic()
        self.run("up", "--detach", "--no-build")
        while time.monotonic() - began < _READY_SECONDS:
            try:
                self.inside("frontend", "python", "-c", _ASK_READY)
                return time.monotonic() - began
            except ProjectError:
                time.sleep(1)
        raise ProjectError(f"not ready within {_READY_SECONDS} s")

    def stop(self, service: str) -> tuple[float, int]:
        """The seconds that a service took to end at SIGTERM, and its exit code."""
        began = time.monotonic()
        self.run("stop", service)
        return time.monotonic() - began, int(self.inspect(service, "{{.State.ExitCode}}"))
