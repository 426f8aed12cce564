"""The sweep over a real Triton: it loads what it says, and leaves the model as it was."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from scripts.benchmark.common.target import Target
from scripts.benchmark.product.model_control import Knobs
from scripts.benchmark.product.tune import parser, sweep
from scripts.run.stack import Stack

pytestmark = pytest.mark.triton


def _config(stack: Stack) -> dict[str, Any]:
    address = f"http://127.0.0.1:{stack.triton.ports.http}/v2/models/m3_embedder/config"
    with urllib.request.urlopen(address) as answer:
        config: dict[str, Any] = json.loads(answer.read())
    return config


async def test_every_combination_is_measured_and_the_model_is_left_as_it_was(stack: Stack, tmp_path: Path) -> None:
    before = _config(stack)
    address = f"http://127.0.0.1:{stack.triton.ports.http}"
    target = Target(f"{stack.url}/v1", stack.api_key, address, secret=stack.triton.secret)
    sizes = ["--delays", "0", "--batches", "1,8", "--instances", "1", "--threads", "2"]
    arguments = parser().parse_args([*sizes, "--callers", "4", "--seconds", "1", "--out", str(tmp_path)])
    heard: list[str] = []
    swept = await sweep(target, arguments, heard.append)
    running, single, several = swept.found
    assert running.knobs == Knobs.of(before)
    assert (single.knobs, several.knobs) == (Knobs(0, 1, 1, 2), Knobs(0, 8, 1, 2))
    assert running.errors == single.errors == several.errors == 0
    assert single.mean_batch == 1
    assert several.mean_batch > 1
    assert len(heard) == 1 + len(swept.found) + len(swept.again)
    assert _config(stack) == before
