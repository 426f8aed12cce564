"""The real clients that call the whole product."""

import os
from collections.abc import Iterator

import openai
import psutil
import pytest

from scripts.local_triton.server import LocalTriton
from scripts.run.stack import Stack


def send(triton: LocalTriton, signal: int) -> None:
    """Send a signal to a Triton with all its stubs."""
    assert triton._process is not None
    os.killpg(triton._process.pid, signal)


def processes(triton: LocalTriton, model: str) -> list[int]:
    """Those of a model's instances, by the prefix of this Triton and their names."""
    lines = {each.pid: f" {' '.join(each.info['cmdline'] or ())}" for each in psutil.process_iter(["cmdline"])}
    return [pid for pid, line in lines.items() if f" {triton._prefix}" in line and f" {model}_0_" in line]


@pytest.fixture(scope="session")
def client(stack: Stack) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{stack.url}/v1", api_key=stack.api_key, max_retries=0) as connected:
        yield connected
