import fcntl
import os
from pathlib import Path

import pytest

from scripts.export_models.whisper.served import recognizer_module

code = recognizer_module("compilations")
kept = code.kept


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "graph.compiled"


def _compile(folder: Path, name: str, *, damaged: bool = False) -> None:
    """As OpenVINO, which writes what it does not find whole, for its own user."""
    with kept(folder) as settings:
        path = Path(settings["CACHE_DIR"]) / name
        if damaged:
            path.unlink()
        if not path.exists():
            path.touch(mode=0o400)


def test_what_is_new_takes_the_place_of_what_was_kept(folder: Path) -> None:
    _compile(folder, "1.blob")
    _compile(folder, "2.blob")
    assert [path.name for path in folder.iterdir()] == ["2.blob"]


def test_what_is_found_stays(folder: Path) -> None:
    _compile(folder, "1.blob")
    _compile(folder, "1.blob")
    assert [path.name for path in folder.iterdir()] == ["1.blob"]


@pytest.mark.parametrize("damaged", [False, True])
def test_other_users_may_read_it(folder: Path, damaged: bool) -> None:
    _compile(folder, "1.blob")
    _compile(folder, "1.blob", damaged=damaged)
    assert (folder / "1.blob").stat().st_mode & 0o777 == 0o644


def _lock(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


def test_one_compiles_at_a_time(folder: Path) -> None:
    with kept(folder), pytest.raises(BlockingIOError):
        _lock(folder)
    _lock(folder)


def test_nobody_waits_for_ever_for_one_that_is_frozen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "_WAIT_SECONDS", 0.0)
    with kept(folder), pytest.raises(TimeoutError), kept(folder):
        pass
