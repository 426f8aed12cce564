"""What a shell sources, and the next start reads."""

import shlex
import subprocess
from pathlib import Path

from scripts.run import demo_env

_VALUES = {"QUARTET_DATABASE": "postgresql://quartet:a b$c'd@host/name", "QUARTET_API_KEY": "qk_1"}


def test_it_is_its_owners_alone_and_can_be_sourced(tmp_path: Path) -> None:
    path = tmp_path / "demo.env"
    demo_env.write(path, _VALUES)
    assert path.stat().st_mode & 0o777 == 0o600
    script = f'. {shlex.quote(str(path))}; printf %s "$QUARTET_DATABASE"'
    shown = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout == _VALUES["QUARTET_DATABASE"]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    demo_env.write(tmp_path / "demo.env", _VALUES)
    assert demo_env.read(tmp_path / "demo.env") == _VALUES


def test_before_the_first_start_there_is_nothing(tmp_path: Path) -> None:
    assert demo_env.read(tmp_path / "demo.env") == {}
