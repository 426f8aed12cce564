"""Frontends in their own processes, with a fake Triton."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from frontend.access.jwt import Tokens
from frontend.catalogue.endpoints import LIMITS
from frontend.commands.database import with_database
from frontend.config.reading import CONFIG_FILE, PREFIX
from frontend.config.settings import Settings
from tests.conftest import JWT_SECRET, KEY, ROOT
from tests.fakes import add_key

MOBILE_TOKEN = Tokens("quartet-mobile", "quartet", JWT_SECRET).issue("phone-1", 86_400)


@dataclass
class Frontend:
    """A running frontend, without limits for ``KEY`` and ``MOBILE_TOKEN``."""

    address: str
    process: subprocess.Popen[str]

    def blocked_ms(self) -> float:
        """The longest time that the event loop of a frontend with ``--watch`` was blocked since the last call."""
        self.process.send_signal(signal.SIGUSR1)
        assert self.process.stdout is not None
        return float(self.process.stdout.readline())

    @property
    def port(self) -> int:
        port = urlsplit(self.address).port
        assert port is not None
        return port


def named(**settings: object) -> dict[str, str]:
    """The environment variables of settings."""
    return {f"{PREFIX}{name}": str(value) for name, value in settings.items()}


def prepare(folder: Path, database: str = "", /, **settings: object) -> dict[str, str]:
    """Put ``KEY`` into the database (by default one in ``folder``), and limits that no test reaches into a file.

    Returns the environment of a frontend with both and with ``settings``.
    """
    limits = "\n".join(f"{name} = 1_000_000" for name in LIMITS)
    (folder / "quartet.toml").write_text(f"[limits]\n{limits}\n", encoding="utf-8")
    database = database or f"sqlite:///{folder}/quartet.sqlite3"
    with_database(Settings(database=database), lambda engine: add_key(engine, KEY))
    own = named(DATABASE=database, USAGE_FOLDER=folder / "usage", **settings)
    return {CONFIG_FILE: str(folder / "quartet.toml"), **own}


@contextmanager
def running(
    environ: dict[str, str], *arguments: str, within: Sequence[str] = (), stderr: int | None = None
) -> Iterator[Frontend]:
    """Run a frontend with these settings on a free port; ``within`` is a command that runs another command."""
    settings = named(JWT_SECRET=JWT_SECRET, PORT=0, LOG_LEVEL="ERROR") | environ
    command = [*within, sys.executable, "-m", "tests.fake_frontend", *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **settings}, stdout=subprocess.PIPE, stderr=stderr, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield Frontend(process.stdout.readline().strip(), process)
        finally:
            process.terminate()
