"""A child leaves nothing behind, however it or its parent ends."""

import os
import subprocess
import sys
from pathlib import Path

from scripts.local_triton.child import start_child, stop_child
from tests.conftest import ROOT
from tests.eventually import until


def _runs(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_what_a_child_left_behind_ends_with_it(tmp_path: Path) -> None:
    child = start_child(["sh", "-c", "sleep 600 & echo $!"], os.environ, tmp_path / "log")
    child.wait()
    left = (tmp_path / "log").read_text().strip()
    assert _runs(left)
    stop_child(child, 0)
    await until(lambda: not _runs(left))


def _child_of_a_killed_parent(log: Path) -> str:
    code = (
        "import os, sys; from pathlib import Path; from scripts.local_triton.child import start_child\n"
        "print(start_child(['sleep', '600'], os.environ, Path(sys.argv[1])).pid, flush=True); sys.stdin.read()"
    )
    command, pipe = [sys.executable, "-c", code, str(log)], subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as parent:
        assert parent.stdout is not None
        child = parent.stdout.readline().strip()
        assert _runs(child)
        parent.kill()
    return child


async def test_a_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    child = _child_of_a_killed_parent(tmp_path / "log")
    await until(lambda: not _runs(child))
