"""The sweep over a real Triton: it loads what it says, and leaves the model as it was."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from scripts.benchmark.product.model_control import Knobs
from scripts.run.stack import Stack
from tests.conftest import ROOT

pytestmark = pytest.mark.triton


def _config(stack: Stack) -> dict[str, Any]:
    address = f"http://127.0.0.1:{stack.triton.ports.http}/v2/models/m3_embedder/config"
    with urllib.request.urlopen(address) as answer:
        config: dict[str, Any] = json.loads(answer.read())
    return config


def _sweep(stack: Stack, environ: dict[str, str], *more: str) -> "subprocess.CompletedProcess[str]":
    """As another shell does it. No row meets the target, so none is measured once more.

    With that delay, in microseconds, requests meet on a busy machine too, and the first ones of that seed are short
    enough to share an execution.
    """
    sizes = ["--delays=200000", "--batches=1,8", "--instances=1", "--threads=2"]
    sizes += ["--seconds=1", "--seed=2116", "--callers=4", "--p95=0.01"]
    target = [f"--url={stack.url}/v1", f"--triton=http://127.0.0.1:{stack.triton.ports.http}"]
    command = [sys.executable, "-m", "scripts.benchmark.product.tune", "--model=m3_embedder", *sizes, *target, *more]
    environ = {"PATH": "/usr/bin:/bin", **environ}
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)


def test_another_shell_measures_every_combination_by_the_secret_and_leaves_the_model_as_it_was(
    stack: Stack, tmp_path: Path
) -> None:
    before = _config(stack)
    done = _sweep(stack, stack.environment(), f"--out={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert "not loaded with" not in done.stdout
    running, single, several = json.loads((tmp_path / "m3_embedder.json").read_text(encoding="utf-8"))["tried"]
    knobs = [Knobs(**each["knobs"]) for each in (running, single, several)]
    assert knobs == [Knobs.of(before), Knobs(200_000, 1, 1, 2), Knobs(200_000, 8, 1, 2)]
    assert running["errors"] == single["errors"] == several["errors"] == 0
    assert single["mean_batch"] == 1
    assert several["mean_batch"] > 1
    assert _config(stack) == before


def test_without_the_secret_nothing_is_loaded(stack: Stack) -> None:
    closed = _sweep(stack, {}, f"--key={stack.api_key}")
    assert (closed.returncode, "restricted" in closed.stderr) == (1, True)
