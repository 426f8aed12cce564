"""``serve`` as a process: its workers, its port, its admin port."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frontend.config.reading import PREFIX
from scripts.local_triton.checks import free_port
from tests.conftest import ROOT
from tests.eventually import until
from tests.frontends import named

FRONTEND = ("frontend", "serve")
FAKE = ("tests.fake_workers",)


@dataclass(frozen=True)
class Look:
    """What ``/health/ready`` says."""

    status: int
    body: dict[str, Any]


class Served:
    """``module`` as a process, which can be started and stopped any number of times on the same ports.

    ``within`` is a command that becomes another command.
    """

    def __init__(
        self,
        environ: dict[str, str],
        log: Path,
        module: tuple[str, ...] = FAKE,
        host: str = "127.0.0.1",
        ports: tuple[int, int] | None = None,
        within: Sequence[str] = (),
    ) -> None:
        self.host, self.ports = host, ports or (free_port(), free_port())
        self.port, self.admin_port = self.ports
        own = named(HOST=host, ADMIN_HOST=host, PORT=self.port, ADMIN_PORT=self.admin_port, LOG_LEVEL="WARNING")
        self._environ = {**os.environ, **own, **environ}
        self._module, self._within, self.log = module, within, log
        self._wanted = int(self._environ.get(f"{PREFIX}WORKERS", 1))
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def admin_url(self) -> str:
        return f"http://{self.host}:{self.admin_port}"

    async def start(self) -> None:
        """Until it is ready."""
        await asyncio.to_thread(self.spawn)
        await until(self.is_whole, 90)

    def spawn(self) -> None:
        """Start it and do not wait."""
        with self.log.open("ab") as output:
            command = [*self._within, sys.executable, "-m", *self._module]
            self.process = subprocess.Popen(command, cwd=ROOT, env=self._environ, stderr=output, stdout=output)

    def is_whole(self) -> bool:
        """Whether it is ready and every worker accepts."""
        look = self.look()
        return look is not None and look.status == 200 and self.counted("quartet_workers") == self._wanted

    def look(self) -> Look | None:
        """What readiness says, or None if the frontend does not answer."""
        try:
            with urllib.request.urlopen(f"{self.admin_url}/health/ready", timeout=10) as answer:
                return Look(answer.status, json.load(answer))
        except urllib.error.HTTPError as error:
            return Look(error.code, json.load(error))
        except OSError:
            return None

    def counted(self, name: str) -> float:
        """A metric without labels, or -1 if the frontend does not answer or lacks it."""
        try:
            with urllib.request.urlopen(f"{self.admin_url}/metrics", timeout=10) as answer:
                found = re.search(rf"^{name} (.+)$", answer.read().decode(), re.MULTILINE)
        except OSError:
            return -1
        return float(found[1]) if found else -1

    def workers(self) -> set[int]:
        """The children of a frontend of several workers."""
        assert self.process is not None
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return {int(pid) for pid in path.read_text(encoding="utf-8").split()}

    def tell(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    async def stop(self, number: signal.Signals = signal.SIGTERM, seconds: float = 120) -> int:
        """Its exit code."""
        process = self.process
        assert process is not None
        process.send_signal(number)
        await until(lambda: process.poll() is not None, seconds)
        return process.wait()

    def kill(self) -> None:
        """Whatever is left."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
