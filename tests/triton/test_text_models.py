"""A text model in a real Triton: callers that disconnect harm nobody else."""

import asyncio
import time
from collections.abc import AsyncIterator

import numpy as np
import pytest
import tritonclient.grpc.aio as grpc_client
from tritonclient.grpc import InferInput

from scripts.run.stack import Stack
from tests.triton.conftest import texts

pytestmark = pytest.mark.triton

_MODEL = "m3_embedder"
# Tokens that take any processor seconds, so that a cancellation half-way is noticed.
_LONGEST, _LONG = 8192, 3000


def _texts(*lengths: int) -> list[InferInput]:
    """Texts of these lengths, in tokens that all differ."""
    ends = np.cumsum(lengths)
    return texts(*(range(1 + end - length, 1 + end) for end, length in zip(ends, lengths, strict=True)))


async def _drop(client: grpc_client.InferenceServerClient, lengths: list[int], calls: int, after: float) -> None:
    """Send calls with texts of these lengths, and cancel them ``after`` seconds."""
    tasks = [asyncio.ensure_future(client.infer(_MODEL, _texts(*lengths))) for _ in range(calls)]
    await asyncio.sleep(after)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def client(stack: Stack) -> AsyncIterator[grpc_client.InferenceServerClient]:
    async with grpc_client.InferenceServerClient(f"127.0.0.1:{stack.triton.ports.grpc}") as connected:
        yield connected


async def _row(client: grpc_client.InferenceServerClient) -> bytes:
    result = await client.infer(_MODEL, _texts(3))
    return bytes(result.as_numpy("embedding").tobytes())


async def test_calls_that_are_dropped_together_do_not_kill_it(
    stack: Stack, client: grpc_client.InferenceServerClient
) -> None:
    await _drop(client, [200] * 4, 118, 0.7)
    # The crash came seconds later.
    for _ in range(10):
        await asyncio.sleep(0.5)
        await _row(client)
    assert stack.triton.alive()


async def test_texts_that_are_dropped_do_not_show_in_the_next(client: grpc_client.InferenceServerClient) -> None:
    expected = await _row(client)
    for lengths in ([_LONGEST], [200, 190, 180], [3000, 9]):
        await _drop(client, lengths, 4, 0.2)
        assert [await _row(client) for _ in range(4)] == [expected] * 4


async def test_a_long_text_is_not_computed_to_its_end_after_a_disconnect(
    client: grpc_client.InferenceServerClient,
) -> None:
    started = time.monotonic()
    await client.infer(_MODEL, _texts(_LONG))
    whole = time.monotonic() - started
    # One for each instance.
    await _drop(client, [_LONG], 2, 0.5)
    started = time.monotonic()
    await _row(client)
    assert time.monotonic() - started < 0.7 * whole
