"""The product as somebody has it who has just cloned it: a copy of this checkout without models, keys and logs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.export_models import space
from scripts.rehearsal.watch import Watched
from scripts.run import demo_env

_ROOT = Path(__file__).parents[2]
# Older than any virtual environment, so that make finds the one that is there up to date.
_LONG_AGO = (1, 1)


class Checkout:
    """A copy in ``folder``, which takes this Python's virtual environment; ``variables`` are given to each make."""

    def __init__(self, folder: Path, port: int, hub: str, variables: list[str]) -> None:
        self.folder = folder
        self._given = [f"PORT={port}", *variables]
        self._environment = {**os.environ, "HF_ENDPOINT": hub}

    def make_anew(self) -> None:
        """All files of this checkout that git knows, as they are now."""
        shutil.rmtree(self.folder, ignore_errors=True)
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=_ROOT, capture_output=True, text=True, check=True)
        for name in listed.stdout.split("\0"):
            if name and (_ROOT / name).is_file():
                copy = self.folder / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(_ROOT / name, copy)
                os.utime(copy, _LONG_AGO)
        (self.folder / ".venv").symlink_to(Path(sys.prefix).resolve())

    def run(self, precision: str, log: Path) -> Watched:
        """``make run`` with the models of the hub."""
        command = ["make", "run", "MODELS=hub", f"PRECISION={precision}", *self._given]
        return Watched(command, self.folder, self._environment, log, self.folder / space.WORK / space.LOG)

    def values(self) -> dict[str, str]:
        """What a running product has written for its callers."""
        return demo_env.read(self.folder / "build" / demo_env.FILE)

    def disk(self, *inside: str) -> int:
        """Bytes on the disk of what lies in the folders ``inside`` it."""
        files = (path for name in inside for path in (self.folder / name).rglob("*") if path.is_file())
        return sum(path.lstat().st_blocks * 512 for path in files)
