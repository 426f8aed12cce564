"""How tests call make."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT

Make = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def make() -> Make:
    """Runs make in the present folder, with this Python as its environment, in which nothing is to install."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        binary = Path(".venv/bin")
        binary.mkdir(parents=True, exist_ok=True)
        (binary / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (binary / "python").chmod(0o755)
        for name in ("base", "installed", "installed-tests"):
            (binary.parent / name).touch()
        command = ["make", "-f", str(ROOT / "Makefile"), *arguments]
        # What a make that runs the tests passes on would be this one's.
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)

    return run
