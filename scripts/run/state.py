"""Locks of the folder of one Quartet, and of the models it shares with others of the same checkout.

The kernel releases them when their process ends. Only the standard library is needed, because preflight runs before
anything is installed.
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from scripts.local_triton.checks import PreflightError

BUILD = Path("build")
REPOSITORY = Path("model_repository")
_RUNNING = "running.json"
MODELS_LOCK = BUILD / "models.lock"
_TIME = "%Y-%m-%d %H:%M:%S"


def check_writable(folder: Path) -> None:
    """Raise ``PreflightError`` if a start with its state in ``folder`` may not write to one of its files."""
    tops = [top for top in (Path(".venv"), BUILD, Path("data"), REPOSITORY, folder) if top.exists()]
    for path in (Path(), *tops, *(each for top in tops for each in (*top.glob("*"), *top.glob("*/*/")))):
        if path.exists() and not os.access(path, os.W_OK, effective_ids=True):
            raise PreflightError(
                f"{path.absolute()} is {_owner(path)}'s and cannot be written to: use a clone that belongs to "
                f"you, or run this as {_owner(path)}"
            )


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except KeyError:
        return f"user {path.stat().st_uid}"


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
    file.seek(0)
    file.truncate(0)
    file.write(text)
    file.flush()


@contextmanager
def folder_in_use(folder: Path, port: int) -> Iterator[Callable[[], None]]:
    """Lock the folder of keys, logs and database; ``PreflightError`` says which process has it.

    Yields what to call when this process begins to end.
    """
    with _open(folder / _RUNNING) as file:
        _claim(file, folder)
        # In local time.
        ours = {"pid": os.getpid(), "port": port, "since": time.strftime(_TIME)}
        _rewrite(file, json.dumps(ours))
        yield lambda: _rewrite(file, json.dumps({**ours, "ending": time.strftime(_TIME)}))


def check_folder(folder: Path) -> None:
    """Raise ``PreflightError`` as ``folder_in_use`` does, without locking."""
    if (folder / _RUNNING).is_file():
        with _open(folder / _RUNNING) as file:
            _claim(file, folder)


def _claim(file: IO[str], folder: Path) -> None:
    if _lock(file, fcntl.LOCK_EX):
        return
    try:
        who = json.loads(file.read())
    except ValueError:
        # That process has the lock and has not written yet.
        raise PreflightError(f"another Quartet starts in {folder} just now") from None
    pid, port = who["pid"], who["port"]
    if "ending" in who:
        raise PreflightError(
            f"the Quartet of {folder} ends since {who['ending']}: process {pid} still finishes requests; start again "
            f"when it is gone, or drop them: kill -INT {pid}"
        )
    raise PreflightError(
        f"Quartet runs here already: process {pid} on port {port} since {who['since']}, with its keys and logs in "
        f"{folder}; stop it (Ctrl-C, or kill {pid}), or start another next to it: "
        f"make run PORT={port + 1} STATE={folder / 'second'}"
    )


@contextmanager
def models_in_use(choice: str, export: Callable[[], None], lock: Path = MODELS_LOCK) -> Iterator[None]:
    """Share the model repository with others that run on the models of ``choice``; the first one exports them.

    ``PreflightError`` if another Quartet runs on other models, or is exporting.
    """
    with _open(lock) as file:
        if _is_alone(file, choice):
            _rewrite(file, choice)
            export()
        _share(file)
        yield


@contextmanager
def models_kept(lock: Path = MODELS_LOCK) -> Iterator[None]:
    """Let nobody export into the model repository meanwhile; ``PreflightError`` if somebody does so already."""
    with _open(lock) as file:
        _share(file)
        yield


def check_models(choice: str, lock: Path = MODELS_LOCK) -> None:
    """Raise ``PreflightError`` as ``models_in_use`` does, without locking."""
    if lock.is_file():
        with _open(lock) as file:
            _is_alone(file, choice)


def _is_alone(file: IO[str], choice: str) -> bool:
    if _lock(file, fcntl.LOCK_EX):
        return True
    _share(file)
    if (theirs := file.read()) != choice:
        raise PreflightError(
            f"another Quartet of this folder runs on the models of {theirs or 'an earlier export'}; stop it before "
            f"those of {choice} are exported in their place"
        )
    return False


def _share(file: IO[str]) -> None:
    if not _lock(file, fcntl.LOCK_SH):
        raise PreflightError("another Quartet of this folder exports models just now; wait until it is ready")
