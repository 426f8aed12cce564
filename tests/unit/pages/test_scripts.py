"""The pure functions of the pages' scripts, tested by Node."""

import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPTS = Path(__file__).with_name("scripts")
_NODE = Path(sys.prefix) / "clients" / "bin" / "node"


@pytest.mark.parametrize("name", sorted(path.name for path in _SCRIPTS.glob("*.test.mjs")))
def test_functions_of_the_pages(name: str) -> None:
    command = [str(_NODE), "--import", "./served.mjs", "--test", "--test-reporter=tap", name]
    done = subprocess.run(command, cwd=_SCRIPTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    # A file without tests would pass too.
    assert "\n# tests 0" not in done.stdout
