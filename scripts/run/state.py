"""The folder of one Quartet on this machine, and the models it shares with others of the same checkout.

Both are claimed by locks of the kernel, which end with the process that holds them: what a killed one leaves behind is
nobody's. Only the standard library is needed, since it is asked before anything is installed.
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from scripts.local_triton.checks import PreflightError

BUILD = Path("build")
REPOSITORY = Path("model_repository")
_RUNNING = "running.json"
MODELS_LOCK = BUILD / "models.lock"
_TIME = "%Y-%m-%d %H:%M:%S"


@dataclass(frozen=True)
class Occupant:
    """Who runs in a folder; ``since`` is local time."""

    pid: int
    port: int
    since: str


def _open(path: Path) -> IO[str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="utf-8")


def _lock(file: IO[str], kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _rewrite(file: IO[str], text: str) -> None:
    file.truncate(0)
    file.write(text)
    file.flush()


class StateFolder:
    """The folder with the keys, logs and database of one Quartet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def check(self) -> None:
        """``PreflightError`` says who runs here."""
        if (self.folder / _RUNNING).is_file():
            with _open(self.folder / _RUNNING) as file:
                self._lock(file)

    @contextmanager
    def claimed(self, port: int) -> Iterator[None]:
        """Keep the folder meanwhile; ``PreflightError`` says who has it."""
        with _open(self.folder / _RUNNING) as file:
            self._lock(file)
            _rewrite(file, json.dumps(asdict(Occupant(os.getpid(), port, time.strftime(_TIME)))))
            yield

    def _lock(self, file: IO[str]) -> None:
        if not _lock(file, fcntl.LOCK_EX):
            raise PreflightError(self._refusal(file.read()))

    def _refusal(self, record: str) -> str:
        try:
            who = Occupant(**json.loads(record))
        except (TypeError, ValueError):
            # It has the lock and has not written yet.
            return f"another Quartet starts in {self.folder} just now"
        beside = f"make run PORT={who.port + 1} STATE={self.folder / 'second'}"
        return (
            f"Quartet runs here already: process {who.pid} on port {who.port} since {who.since}, with its keys and "
            f"logs in {self.folder}; stop it (Ctrl-C, or kill {who.pid}), or start another beside it: {beside}"
        )


@contextmanager
def models_in_use(choice: str, export: Callable[[], None], lock: Path = MODELS_LOCK) -> Iterator[None]:
    """Keep the model repository at the models of ``choice`` meanwhile, together with others that run on them.

    Who is alone exports first. ``PreflightError`` where another runs on other models, or exports just now.
    """
    with _open(lock) as file:
        if _is_alone(file, choice):
            _rewrite(file, choice)
            export()
        _lock(file, fcntl.LOCK_SH)
        yield


def check_models(choice: str, lock: Path = MODELS_LOCK) -> None:
    """``PreflightError`` as ``models_in_use`` raises it, before anything is begun."""
    if lock.is_file():
        with _open(lock) as file:
            _is_alone(file, choice)


def _is_alone(file: IO[str], choice: str) -> bool:
    if _lock(file, fcntl.LOCK_EX):
        return True
    if not _lock(file, fcntl.LOCK_SH):
        raise PreflightError("another Quartet of this folder exports models just now; wait until it is ready")
    if (theirs := file.read()) != choice:
        raise PreflightError(
            f"another Quartet of this folder runs on the models of {theirs}; stop it before those of {choice} are "
            "exported in their place"
        )
    return False
