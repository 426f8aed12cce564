"""The product of compose.yaml from its images: started, asked what docs/start.md asks, looked at from inside, stopped,
and started again with its data.

    docker/build.sh
    python -m lab.containers

With podman: --compose "podman-compose --in-pod=false" --engine podman. --file adds files to compose.yaml, such as this
folder's podman.yaml and stores.yaml. Ends with a sentence and exit code 1 where something is not as it must be. Its
containers and volumes are removed at the end.
"""

import argparse
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from scripts.local_triton.checks import free_port
from tests.examples import samples

_NAME = "quartet-containers"
_SERVICES = ("frontend", "triton-cpu", "redis", "postgres")
_METRICS = "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:8081/metrics').read().decode())"
_MODEL = "/models/current/whisper_turbo/1/whisper"
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


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the containers of compose.yaml, profile cpu.")
    parser.add_argument("--compose", default="docker compose")
    parser.add_argument("--engine", default="docker")
    parser.add_argument("--file", action="append", default=[])
    parser.add_argument("--log", type=Path, default=Path("build/containers.log"))
    return parser.parse_args()


def _project(arguments: argparse.Namespace) -> Project:
    files = [f"--file={file}" for file in ("compose.yaml", *arguments.file)]
    command = [*arguments.compose.split(), *files, "--project-name", _NAME, "--profile", "cpu"]
    own = {
        "PORT": str(free_port()),
        "POSTGRES_PASSWORD": secrets.token_hex(24),
        "QUARTET_JWT_SECRET": secrets.token_hex(32),
    }
    arguments.log.parent.mkdir(exist_ok=True)
    arguments.log.write_bytes(b"")
    return Project(command, arguments.engine, _NAME, {**os.environ, **own}, arguments.log)


@contextmanager
def _removed(project: Project) -> Iterator[None]:
    """Leave nothing behind, of an earlier run neither."""
    project.run("down", "--volumes", check=False)
    try:
        yield
    finally:
        project.run("logs", check=False)
        project.run("down", "--volumes", check=False)


def ask_as_the_docs_do(project: Project, key: str) -> None:
    """Every example answers what docs/start.md says that it does."""
    token = project.inside("frontend", "quartet", "tokens", "issue", "--subject", "phone-1", "--seconds", "3600")
    values = {"URL": f"http://127.0.0.1:{project.environ['PORT']}", "API_KEY": key, "MOBILE_JWT": token.strip()}
    environ = {**os.environ, **{f"QUARTET_{name}": value for name, value in values.items()}}
    with tempfile.TemporaryDirectory() as folder:
        for sample in samples(Path("docs/start.md")):
            if not sample.text.startswith("curl "):
                continue
            command = ["bash", "-c", sample.text]
            done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
            if done.returncode or not done.stdout.startswith(sample.begins):
                raise ProjectError(f"{sample.text}\nprinted {done.stdout[:300]} {done.stderr}")
            print(f"    {sample.text.splitlines()[0][8:].split(' ')[0]:45} {done.stdout[:75].strip()}")
        if not (Path(folder) / "hello.wav").read_bytes().startswith(b"RIFF"):
            raise ProjectError("hello.wav is no WAV")


def look_inside(project: Project, service: str) -> str:
    """What a service may do: no rights, no way to new ones, and no file of its root to change."""
    status = project.inside(service, "cat", "/proc/1/status")
    held = dict(re.findall(r"^(Uid|CapEff|CapBnd|NoNewPrivs):\s+(\w+)", status, re.MULTILINE))
    if int(held["CapEff"], 16) or int(held["CapBnd"], 16) or held["NoNewPrivs"] != "1" or held["Uid"] == "0":
        raise ProjectError(f"{service} has rights: {held}")
    written = project.inside(service, "sh", "-c", "touch /etc/x 2> /dev/null && echo written || true")
    if written:
        raise ProjectError(f"{service} could write to its root")
    memory = int(project.inspect(service, "{{.HostConfig.Memory}}"))
    if not memory:
        raise ProjectError(f"{service} has no limit of memory")
    return f"uid {held['Uid']}, CapEff {held['CapEff']}, root read-only, at most {memory / 2**30:.1f} GiB"


def _state(project: Project) -> dict[str, str]:
    """What must outlive a stop: the keys, what was charged, and when the models were written."""
    keys = project.inside("frontend", "quartet", "keys", "list")
    return {
        # When a key was used last is written some time later.
        "keys": " ".join(re.findall(r"\bqk_\w+|\b[0-9a-f]{32}\b", keys)),
        "charges": project.inside("frontend", "quartet", "usage"),
        "models": project.inside("frontend", "stat", "--format", "%Y", _MODEL),
    }


def run(project: Project) -> None:
    """The whole of it, step by step."""
    print(f"first start: ready after {project.start():.0f} s")
    create = ("quartet", "keys", "create", "--name", "search service", "--tier", "pro")
    key = project.inside("frontend", *create).split()[-1]
    ask_as_the_docs_do(project, key)
    for service in _SERVICES:
        print(f"{service:12} {look_inside(project, service)}")
    if "\nquartet_limiter_degraded 0.0\n" not in project.inside("frontend", "python", "-c", _METRICS):
        raise ProjectError("the frontend counts without Redis")
    before = _state(project)
    _stop(project, _SERVICES)
    print(f"second start: ready after {project.start():.0f} s")
    if (after := _state(project)) != before:
        raise ProjectError(f"after the second start there is {after}, and was {before}")
    print("keys, charges and models are as they were; with the same key:")
    ask_as_the_docs_do(project, key)
    for service in ("export", *_SERVICES):
        print(f"image of {service:12} {project.megabytes(service):6.0f} MB")


def _stop(project: Project, services: Sequence[str]) -> None:
    for service in services:
        seconds, code = project.stop(service)
        print(f"{service:12} ended in {seconds:.1f} s with exit code {code}")
        if code:
            raise ProjectError(f"{service} ended with {code}")


def main() -> None:
    project = _project(_arguments())
    try:
        with _removed(project):
            run(project)
    except ProjectError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
