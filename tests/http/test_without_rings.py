"""The core works without the rings around it: in a copy without their folders, the contract holds."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.unit.test_layers import RINGS

CONTRACT = (
    "test_transcriptions.py",
    "test_speech.py",
    "test_embeddings.py",
    "test_rerank.py",
    "test_mobile.py",
    "test_access.py",
    "test_errors.py",
    "test_billing.py",
    "test_answers.py",
    "test_health.py",
)
_SECONDS = 600.0


@pytest.mark.timeout(_SECONDS + 30)
def test_the_contract_holds_without_the_rings(tmp_path: Path) -> None:
    for folder in ("frontend", "tests", "scripts", "client"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for ring in RINGS:
        shutil.rmtree(tmp_path / "frontend" / ring)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "model_repository").symlink_to(ROOT / "model_repository")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    files = [f"tests/http/{name}" for name in CONTRACT]
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "TEST_EXTENSIONS"))}
    run = subprocess.run(
        [*command, *files], cwd=tmp_path, env=environ, timeout=_SECONDS, check=False, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout[-8_000:]
