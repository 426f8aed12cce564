"""How tests call a Triton and the whole product."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import openai
import psutil
import pytest
from numpy.typing import NDArray
from tritonclient.grpc import InferInput
from tritonclient.utils import np_to_triton_dtype

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


def tensor(name: str, values: NDArray[Any]) -> InferInput:
    made = InferInput(name, values.shape, np_to_triton_dtype(values.dtype))
    made.set_data_from_numpy(values)
    return made


def texts(*tokens: Sequence[int]) -> list[InferInput]:
    """A packed request of texts, by their token ids."""
    lengths = [len(each) for each in tokens]
    return [
        tensor("input_ids", np.concatenate(tokens).astype(np.int32)[None]),
        tensor("lengths", np.array([lengths], np.int32)),
    ]


@pytest.fixture(scope="session")
def client(stack: Stack) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{stack.url}/v1", api_key=stack.api_key, max_retries=0) as connected:
        yield connected
