"""Ctrl-C ends what a person has just started without a traceback, while its modules load too."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

_MODULES = [
    "scripts.run",
    "scripts.run.preflight",
    "scripts.run.known_answers",
    "scripts.install",
    "scripts.export_models",
]
_SLOW = "import time; print('loading', flush=True); time.sleep(60)"


@pytest.mark.parametrize("module", _MODULES)
def test_an_interrupt_while_modules_load_says_nothing(tmp_path: Path, module: str) -> None:
    # In the place of the first module that all of them load.
    (tmp_path / "argparse.py").write_text(_SLOW, encoding="utf-8")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command, pipe = ["env", "--default-signal=INT", sys.executable, "-m", module], subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=pipe, stderr=pipe, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "loading\n"
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=30)
    assert (run.returncode, said) == (-signal.SIGINT, "")
